/** A wake that got lost on its way is repeated, and a wake that arrived is not. */
import { describe, expect, test } from "vitest";
import { CALLER, openServerContext, type ServerContext } from "../../../test/rig/server-context.ts";
import type { Wake } from "../../wire/answers.ts";
import type { Caller } from "../../wire/service.ts";

/** The answer that a waiting call has got so far. */
interface Heard {
  wake?: Wake | undefined;
}

/** A session `s`, and one task it could take. */
async function openWakes(): Promise<ServerContext & { readonly listen: (caller?: Partial<Caller>) => Promise<Heard> }> {
  const context = await openServerContext();
  const { rig, service, answer } = context;
  await answer(service.join({ agent: "agents", session: "s", capabilities: [], slots: 1 }, CALLER));
  const text = JSON.stringify({ name: "plan", tasks: { a: { prompt: "a", pool: "agents" } } });
  await answer(service.submit({ text, file: "/plan.json", directory: "/" }, CALLER));
  const listen = async (caller: Partial<Caller> = {}): Promise<Heard> => {
    const heard: Heard = {};
    void service.wake("s", 60_000, { ...CALLER, ...caller }).then((wake) => {
      heard.wake = wake;
    });
    await rig.clock.settle();
    return heard;
  };
  return { ...context, listen };
}

const OFFER = { task: "a", reason: "offered" };

describe("an offer that no session came for", () => {
  test("is told again to a session that asks again, a second later", async () => {
    const { rig, listen } = await openWakes();
    expect((await listen()).wake).toMatchObject(OFFER);
    const again = await listen();
    await rig.clock.advance(999);
    expect(again.wake).toBeUndefined();
    await rig.clock.advance(1);
    expect(again.wake).toMatchObject(OFFER);
    await rig.clock.advance(5_000);
    expect((await listen()).wake).toMatchObject(OFFER);
  });

  test("is told to a second call that waits beside a call that was told", async () => {
    const { rig, service, listen } = await openWakes();
    await rig.promised(service.pause({}, CALLER));
    const [first, second] = [await listen(), await listen()];
    await rig.promised(service.resume({}, CALLER));
    expect(first.wake).toMatchObject(OFFER);
    expect(second.wake).toBeUndefined();
    await rig.clock.advance(1_000);
    expect(second.wake).toMatchObject(OFFER);
  });

  test("is not told to a session that has left meanwhile, and its call ends", async () => {
    const { rig, service, answer, listen } = await openWakes();
    expect((await listen()).wake).toMatchObject(OFFER);
    const again = await listen();
    await answer(service.leave("s", CALLER));
    expect(again).toEqual({ wake: undefined });
    await rig.clock.advance(5_000);
  });

  test("is told once to a stream that stays open", async () => {
    const { rig, listen } = await openWakes();
    const { signal } = new AbortController();
    expect((await listen({ signal })).wake).toMatchObject(OFFER);
    const next = await listen({ signal });
    await rig.clock.advance(5_000);
    expect(next.wake).toBeUndefined();
  });

  test("is told no more once it is claimed", async () => {
    const { rig, service, listen } = await openWakes();
    expect((await listen()).wake).toMatchObject(OFFER);
    const again = await listen();
    await rig.promised(service.claim({ session: "s", waitMs: 0 }, CALLER));
    await rig.clock.advance(5_000);
    expect(again.wake).toBeUndefined();
  });
});
