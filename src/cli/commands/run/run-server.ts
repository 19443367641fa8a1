/**
 * A run is a daemon for a single plan: while it lasts, sessions may claim its tasks and callers may ask about it, on the same socket as
 * `rota serve`. A short run without work for sessions ends before any caller could come, and opens no socket.
 */

import type { Daemon } from "../../../app/daemon/daemon.ts";
import { UserError } from "../../../domain/errors.ts";
import { later, millis } from "../../../domain/time.ts";
import type { Server } from "../../../http/server.ts";
import { version } from "../../version.ts";
import type { GoOn } from "./run-work.ts";

/** After this time a caller may want to ask. */
const OPENS_AFTER = millis(500);

export interface RunServer {
  close(): Promise<void>;
}

export function openRunServer(work: GoOn, notice: (text: string) => void): RunServer {
  const { clock } = work.scheduler;
  const { run } = work.opened;
  const hasSessions = run.tasks.some(({ spec }) => spec.pool !== undefined);
  let opened: Promise<readonly [Daemon, Server] | undefined> | undefined;
  const open = (): void => {
    opened ??= serveRun(work).catch((error: unknown) => {
      // The run itself does not need the socket, unless its tasks do.
      if (hasSessions)
        notice(`Sessions cannot come to this run: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    });
  };
  if (hasSessions && run.status.state !== "finished") open();
  const timer = clock.at(later(clock.now(), OPENS_AFTER), open);
  return {
    async close() {
      timer.cancel();
      const [daemon, server] = (await opened) ?? [];
      await server?.close();
      await daemon?.close();
    },
  };
}

async function serveRun({ scheduler, state, config, context }: GoOn): Promise<readonly [Daemon, Server]> {
  const [{ daemonOf }, { serve }] = await Promise.all([
    import("../../../app/daemon/daemon.ts"),
    import("../../../http/server.ts"),
  ]);
  const { clock, secrets } = scheduler;
  const daemon = daemonOf(scheduler, {
    state,
    config,
    command: "rota run",
    environment: context.env,
    version: version(),
  });
  const server = await serve({
    service: { ...daemon.service, submit: refuse, retry: refuse },
    state: state.root,
    clock,
    secrets,
  });
  return [daemon, server];
}

/** This process ends with its own plan, and would leave another plan unfinished. */
const refuse = (): Promise<never> =>
  Promise.reject(new UserError("DAEMON_MISSING", "This is a single run, which takes no other plan"));
