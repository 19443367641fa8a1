import { defineConfig } from "vitest/config";

const SLOW = ["test/e2e/**/*.test.ts", "test/simulation/**/*.test.ts"];

export default defineConfig({
  test: {
    pool: "forks",
    maxWorkers: 2,
    execArgv: ["--disable-warning=ExperimentalWarning"],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["{src,test,scripts,bench}/**/*.test.ts"],
          exclude: [...SLOW, "**/node_modules/**"],
          // For machines that are busy with other things: nothing here waits for time to pass.
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: SLOW,
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
