/** How often what the system does not watch is looked at, unless the setting `pollInterval` says otherwise. */
import { millis } from "../domain/time.ts";

export const POLL_INTERVAL = millis(500);
