/** Speaks the Agent Client Protocol with a program, and prints what it says in our own vocabulary. It ends with its agent, and its agent with it. */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import {
  type ClientConnection,
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { later, seconds } from "../../domain/time.ts";
import type { Clock } from "../../effects/clock.ts";
import { Translation } from "../acp/translate.ts";
import { asObject, type Json, text } from "../json.ts";
import { permitted } from "../permissions.ts";
import type { AgentEvent } from "../vocabulary.ts";
import { Inbox } from "./inbox.ts";
import { type BridgeOrder, INBOX, type InboxLine } from "./order.ts";
import { answerTo, isOwnServer, toolUseOf } from "./permission.ts";

export interface BridgeSetup {
  readonly order: BridgeOrder;
  readonly orderFile: string;
  readonly prompt: string;
  readonly directory: string;
  readonly print: (event: AgentEvent) => void;
  readonly clock: Clock;
  /** Aborted when the bridge is told to end. */
  readonly signal: AbortSignal;
}

/** A message that is longer is a fault of the program. */
const MESSAGE_MAX = 32 * 1024 * 1024;
/** An agent that does not leave when its input ends is asked, and then killed. */
const LEAVE = seconds(5);
const KILL = seconds(8);

/** Answers with the exit code of the bridge. */
export async function bridge(setup: BridgeSetup): Promise<number> {
  const [program, ...args] = setup.order.argv;
  const agent = spawn(program, args, { cwd: setup.directory, stdio: ["pipe", "pipe", "inherit"] });
  const gone = new Promise<void>((resolve) => agent.once("close", () => resolve()));
  const refused = new Promise<never>((_, reject) => {
    agent.once("error", (error) => reject(new Error(`${program} could not be started: ${error.message}`)));
  });
  refused.catch(() => {});
  const conversation = new Conversation(setup);
  const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout), {
    maxMessageBytes: MESSAGE_MAX,
  });
  const connection = conversation.connect(stream);
  const lost = gone.then(() => {
    throw new Error("the agent ended in the middle of its turn");
  });
  lost.catch(() => {});
  try {
    return await Promise.race([conversation.hold(connection), refused, lost]);
  } catch (error) {
    for (const event of conversation.failure(error)) setup.print(event);
    return 1;
  } finally {
    conversation.close();
    agent.stdin.end();
    await leave(agent, gone, setup.clock);
  }
}

async function leave(agent: ReturnType<typeof spawn>, gone: Promise<void>, clock: Clock): Promise<void> {
  if (agent.pid === undefined) return;
  const ask = clock.at(later(clock.now(), LEAVE), () => agent.kill("SIGTERM"));
  const kill = clock.at(later(clock.now(), KILL), () => agent.kill("SIGKILL"));
  await gone;
  ask.cancel();
  kill.cancel();
}

/** One conversation with the agent: its turns, its requests, and what people say meanwhile. */
class Conversation {
  readonly #setup: BridgeSetup;
  readonly #translation: Translation;
  readonly #inbox: Inbox;
  readonly #titles = new Map<string, string>();
  readonly #asked = new Map<string, (option: string) => void>();
  /** Words of people for the next turn. */
  readonly #told: string[] = [];
  /** While an old conversation is loaded, the program says all of it again. */
  #isReplaying = false;

  constructor(setup: BridgeSetup) {
    this.#setup = setup;
    this.#translation = new Translation(setup.order.before);
    this.#inbox = new Inbox(join(dirname(setup.orderFile), INBOX), setup.clock, (line) => this.#heard(line));
  }

  connect(stream: ReturnType<typeof ndJsonStream>): ClientConnection {
    return client({ name: "rota" })
      .onNotification(methods.client.session.update, ({ params }) => this.#update(asObject(params.update)))
      .onRequest(methods.client.session.requestPermission, ({ params }) => this.#permission(params))
      .connect(stream);
  }

  /** All turns: that of the prompt, and one for what people said meanwhile. */
  async hold({ agent }: ClientConnection): Promise<number> {
    const { signal, prompt } = this.#setup;
    const sessionId = await this.#open(agent);
    signal.addEventListener("abort", () => void agent.notify(methods.agent.session.cancel, { sessionId }));
    for (let words: string | undefined = prompt; words !== undefined; words = this.#told.shift()) {
      const result = await agent.request(methods.agent.session.prompt, {
        sessionId,
        prompt: [{ type: "text", text: words }],
      });
      this.#say(this.#translation.turn(asObject(result)));
      if (signal.aborted) return STOPPED;
    }
    return 0;
  }

  failure(error: unknown): readonly AgentEvent[] {
    const said =
      error instanceof RequestError
        ? { code: error.code, message: error.message, data: error.data }
        : { message: String(error) };
    return this.#translation.failure(asObject(said));
  }

  close(): void {
    this.#inbox.close();
  }

  async #open(agent: ClientConnection["agent"]): Promise<string> {
    const { order, directory } = this.#setup;
    const { agentCapabilities } = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: "rota", version: "1" },
    });
    const place = { cwd: directory, mcpServers: serversOf(order) };
    const opened =
      order.resume === undefined ? undefined : await this.#resume(agent, order.resume, place, agentCapabilities);
    const made = opened ?? (await agent.request(methods.agent.session.new, place));
    const sessionId = opened === undefined ? (text(asObject(made), "sessionId") ?? "") : (order.resume as string);
    this.#say([{ kind: "session", id: sessionId, ...(order.model !== undefined && { model: order.model }) }]);
    if (order.model !== undefined) await this.#choose(agent, sessionId, asObject(made), order.model);
    return sessionId;
  }

  /** Continues an earlier conversation, in the way that the program offers. */
  async #resume(
    agent: ClientConnection["agent"],
    sessionId: string,
    place: { readonly cwd: string; readonly mcpServers: ReturnType<typeof serversOf> },
    capabilities: unknown,
  ): Promise<Json> {
    const can = asObject(capabilities);
    const isDirect = asObject(can?.["sessionCapabilities"])?.["resume"] !== undefined;
    this.#isReplaying = true;
    try {
      const method = isDirect ? methods.agent.session.resume : methods.agent.session.load;
      return asObject(await agent.request(method, { sessionId, ...place })) ?? {};
    } finally {
      this.#isReplaying = false;
    }
  }

  async #choose(
    agent: ClientConnection["agent"],
    sessionId: string,
    made: Json | undefined,
    model: string,
  ): Promise<void> {
    const options = made?.["configOptions"];
    const option = Array.isArray(options)
      ? options.map(asObject).find((each) => text(each, "category") === "model")
      : undefined;
    const configId = text(option, "id");
    if (configId === undefined) {
      this.#say([{ kind: "note", text: `the agent does not let its model be chosen: ${model} is not used` }]);
      return;
    }
    await agent.request(methods.agent.session.setConfigOption, { sessionId, configId, value: model });
  }

  #update(update: Json | undefined): void {
    if (this.#isReplaying) return;
    const [id, title] = [text(update, "toolCallId"), text(update, "title")];
    if (id !== undefined && title !== undefined) this.#titles.set(id, title);
    this.#say(this.#translation.update(update));
  }

  async #permission(request: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const { order, directory, signal } = this.#setup;
    const { toolCallId } = request.toolCall;
    const title = this.#titles.get(toolCallId);
    if (order.mcp !== undefined && isOwnServer(request, title, order.mcp.name)) return answerTo(request, true);
    const use = toolUseOf(request, title, directory);
    const verdict = permitted(order.permissions, use);
    const isAllowed = verdict === "ask" ? await this.#ask(request, use.argument, signal) : verdict === "yes";
    if (!isAllowed) this.#translation.refused(toolCallId);
    return signal.aborted ? { outcome: { outcome: "cancelled" } } : answerTo(request, isAllowed);
  }

  #ask({ toolCall, options }: RequestPermissionRequest, argument: string, signal: AbortSignal): Promise<boolean> {
    const id = toolCall.toolCallId;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#asked.set(id, (option) => resolve(isYes(option, options)));
    signal.addEventListener("abort", () => resolve(false), { once: true });
    const offered = options.map(({ optionId, name }) => ({ id: optionId, label: name }));
    this.#say([
      { kind: "asked", id, question: `May the agent use ${toolCall.kind ?? "a tool"}: ${argument}?`, options: offered },
    ]);
    return promise;
  }

  #heard(line: InboxLine): void {
    if ("tell" in line) {
      this.#told.push(line.tell);
      return;
    }
    this.#asked.get(line.answer)?.(line.option);
    this.#asked.delete(line.answer);
  }

  #say(events: readonly AgentEvent[]): void {
    for (const event of events) this.#setup.print(event);
  }
}

/** As a program ends that is asked to: 128 and the number of SIGTERM. */
const STOPPED = 143;

/** By the option's own name, or in a person's words. */
function isYes(answer: string, options: RequestPermissionRequest["options"]): boolean {
  const option = options.find(({ optionId }) => optionId === answer);
  return option === undefined ? /^(?:y|yes|allow)$/i.test(answer.trim()) : option.kind.startsWith("allow");
}

const serversOf = ({ mcp }: BridgeOrder) =>
  mcp === undefined
    ? []
    : [
        {
          name: mcp.name,
          command: mcp.argv[0],
          args: mcp.argv.slice(1),
          env: Object.entries(mcp.env).map(([name, value]) => ({ name, value })),
        },
      ];
