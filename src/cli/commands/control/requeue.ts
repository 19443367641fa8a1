/** `rota requeue TASK`: gives a parked task another chance. */
import { asking } from "./asking.ts";

export const run = asking("requeue");
