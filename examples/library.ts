/**
 * A plan within a program: some tasks are functions of it, the others are commands. With Node 24: `node examples/library.ts`.
 * With a directory (`node examples/library.ts state`) it can be killed at any instant, and goes on where it was when it is started again.
 */
import { run, TaskFailure } from "rota";

const [state] = process.argv.slice(2);

const result = await run(
  {
    name: "weather",
    tasks: {
      // What a function gives back as `result` is there for the tasks that need it.
      fetch: {
        run: async ({ attempt, progress }) => {
          progress("asking the service");
          // The service is busy at first: when it takes work again, the task is tried again.
          if (attempt === 1) throw new TaskFailure("busy", { kind: "rate-limit", resetMs: 50 });
          return { summary: "3 days", result: [11, 14, 9] };
        },
      },
      // A command is run as `rota run` runs it.
      compile: { run: "echo compiled", timeout: "1m" },
      report: {
        needs: ["fetch", "compile"],
        run: ({ needs }) => {
          const degrees = needs["fetch"]?.result as number[];
          return { result: Math.max(...degrees) };
        },
      },
    },
  },
  {
    ...(state !== undefined && { state, resume: true }),
    workers: 4,
    onEvent: ({ seq, kind }) => console.error(seq, kind),
  },
);

// The type of a result is that of the function: a number here.
console.log(`${result.outcome}: ${result.tasks.report.result?.toFixed(1)} degrees after ${result.attempts} attempts`);
