/** `rota approve TASK`: opens the gate in front of a task. */
import { asking } from "./asking.ts";

export const run = asking("approve");
