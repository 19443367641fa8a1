/** What a person can do about a task: commands, each with its purpose. */
import type { Explanation, PoolThere } from "../../domain/waiting/explanation.ts";
import { unreachable } from "../../std/invariant.ts";

type NextStep = readonly [words: readonly string[], purpose: string];

export function nextSteps(explanation: Explanation, leavesLog: (task: string) => boolean): NextStep[] {
  const { wait, state, task, roots, because } = explanation;
  const root = because?.at(-1) ?? roots?.first[0];
  const logs = (of: string, purpose: string): NextStep[] => (leavesLog(of) ? [[["logs", of], purpose]] : []);
  const follow = (of: string, purpose: string): NextStep[] => (leavesLog(of) ? [[["logs", of, "-f"], purpose]] : []);
  // The wish itself was shown before.
  if (explanation.wishes !== undefined) return [[["status"], "how to go on with its run"]];
  switch (wait?.reason) {
    case "gate":
      return [[["approve", task], "open the gate"]];
    case "parked":
      return [
        ...logs(task, "what the last attempt said"),
        [["requeue", task], "try it again, at no cost"],
        [["cancel", task], "give it up"],
      ];
    case "needs":
      if (root === undefined) return [];
      if (root.state === "running" && leavesLog(root.task)) return follow(root.task, "watch what it hangs on");
      return [[["why", root.task], "what it hangs on"]];
    case "same-key":
      return [[["why", wait.holder.task, "--run", wait.run], "how the other one is doing"]];
    case "hazard":
      return follow(wait.holder.task, "watch who holds the files");
    case "offered":
      return [
        [["claim", task, "--session", wait.session], "take it as that session"],
        [["workers"], "who is there"],
      ];
    case "no-match":
      if (explanation.pool !== undefined) return joining(explanation.pool);
      return [[["doctor"], "what this machine has"]];
    case "backing-off":
      return logs(task, "what the last attempt said");
    case "capacity":
      if (wait.workers === 0) return [[["status"], "how to go on with the run"]];
      return explanation.pool === undefined ? [] : claiming(explanation.pool, task);
    case "resources": {
      const holder = wait.short[0]?.holders.first[0];
      return holder === undefined ? [] : follow(holder.task, `watch who holds ${wait.short[0]?.name}`);
    }
    case "shortage":
      return [[["status"], "what runs"]];
    case "backpressure":
      return [[["status"], "what the queue is full of"]];
    case "breaker-open":
    case "rate-limited":
    case "paused":
      return [];
    case undefined:
      if (state === "failed") return [...logs(task, "what it said"), [["retry"], "run again what did not succeed"]];
      if (state === "running" || state === "verifying") return follow(task, "watch it");
      if (root === undefined) return [];
      if (root.state === "failed" && leavesLog(root.task)) return logs(root.task, "what went wrong there");
      return [[["why", root.task], "what happened there"]];
    default:
      return unreachable(wait);
  }
}

/** No session there may take the task: how to join as a session that may. */
function joining({ name, requires, workspace, channel, session }: PoolThere): NextStep[] {
  const words = [
    ...["session", "join", "--pool", name],
    ...(session === undefined ? [] : ["--id", session]),
    ...requires.flatMap((each) => ["--capability", each]),
    ...(workspace === undefined ? [] : ["--workspace", workspace]),
    ...(channel === undefined ? [] : ["--channel", channel]),
  ];
  return [
    [words, "join as a session that may, then claim it"],
    [["workers"], "who is there"],
  ];
}

/** There are sessions that may take the task. Unless the scheduler assigns, one of them has to claim. */
function claiming({ mode, sessions }: PoolThere, task: string): NextStep[] {
  const idle = sessions.find(({ suits, state }) => suits && state === "idle");
  const claims: NextStep[] =
    idle === undefined || mode === "push"
      ? []
      : [[["claim", task, "--session", idle.session], `take it as ${idle.session}`]];
  return [...claims, [["workers"], "who is there, and what each does"]];
}
