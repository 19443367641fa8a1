/** A program that is killed in its second task, which says when, and started again. */
import { run } from "../../src/index.ts";

const [state = "", again] = process.argv.slice(2);
const { outcome, tasks } = await run(
  {
    name: "killed",
    tasks: {
      first: { run: () => ({ result: 7 }) },
      second: {
        needs: ["first"],
        run: async ({ needs, progress }) => {
          if (again !== undefined) return { result: 2 * (needs["first"]?.result as number) };
          progress("now");
          return await new Promise<{ result: number }>(() => {});
        },
      },
    },
  },
  { state, resume: true, settings: { heartbeat: "20ms", leaseTtl: "1s" } },
);
const { first, second } = tasks;
console.log(
  JSON.stringify({
    outcome,
    first: { attempts: first.attempts, result: first.result },
    second: { attempts: second.attempts, result: second.result },
  }),
);
