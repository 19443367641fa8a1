import { once } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { type HttpRig, httpRig } from "../../test/rig/http.ts";
import { startedEvent } from "../../test/rig/replies.ts";
import { Ledger, untilGivenUp } from "../../test/rig/service.ts";
import { UserError } from "../domain/errors.ts";

/** A listener that can be asked what it has received so far. */
class Listener {
  readonly socket: Socket;
  text = "";
  closed = false;

  constructor(rig: HttpRig, path: string, headers = "accept: text/event-stream\r\n") {
    this.socket = rig.raw();
    this.socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`);
    this.socket.setEncoding("utf8").on("data", (part: string) => {
      this.text += part;
    });
    this.socket.on("error", () => undefined);
    this.socket.once("close", () => {
      this.closed = true;
    });
  }

  get ids(): number[] {
    return [...this.text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  }

  /** Waits until the condition holds. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await turn();
  }
}

/** Lets everything happen that can happen now. */
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const count = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, no) => from + no);

describe("following events", () => {
  test("gives what is in the ledger, then what comes, each with its position", async () => {
    const ledger = new Ledger();
    ledger.add(1_203);
    await using rig = await httpRig(ledger.answers);
    const listener = new Listener(rig, "/v1/events");
    await listener.until(() => listener.ids.length === 1_203);
    ledger.add(2);
    await listener.until(() => listener.ids.length === 1_205);
    expect(listener.ids).toEqual(count(1, 1_205));
    expect(listener.text).toMatch(/^HTTP\/1.1 200 OK\r\ncontent-type: text\/event-stream\r\n/);
    expect(listener.text).toContain(`id: 1205\ndata: ${JSON.stringify(startedEvent(1_205))}\n\n`);
    listener.socket.destroy();
  });

  test("that come while the ledger is read are neither lost nor told twice", async () => {
    const ledger = new Ledger();
    ledger.add(500);
    const { events } = ledger.answers;
    await using rig = await httpRig({
      ...ledger.answers,
      events: (request) => {
        const page = events?.(request);
        if (ledger.events.length < 700) ledger.add(50);
        return page;
      },
    });
    const listener = new Listener(rig, "/v1/events");
    await listener.until(() => ledger.followers.size === 1 && listener.ids.length === ledger.events.length);
    expect(listener.ids).toEqual(count(1, ledger.events.length));
    listener.socket.destroy();
  });

  test.each([
    ["`after`", "/v1/events?after=3", "accept: text/event-stream\r\n"],
    ["`follow` alone", "/v1/events?after=3&follow=true", ""],
    ["`Last-Event-ID`", "/v1/events?follow=true", "last-event-id: 3\r\n"],
    ["`Last-Event-ID`, which knows better", "/v1/events?follow=true&after=1", "last-event-id: 3\r\n"],
  ])("goes on after %s", async (_, path, headers) => {
    const ledger = new Ledger();
    ledger.add(5);
    await using rig = await httpRig(ledger.answers);
    const listener = new Listener(rig, path, headers);
    await listener.until(() => listener.ids.length === 2);
    expect(listener.ids).toEqual([4, 5]);
    listener.socket.destroy();
  });

  test("is refused like anything else before it begins", async () => {
    await using rig = await httpRig({ events: () => Promise.reject(new UserError("RUN_UNKNOWN", "No such run")) });
    expect((await rig.send({ path: "/v1/events?follow=true&run=x" })).status).toBe(404);
    const bad = await rig.send({ path: "/v1/events?follow=true", headers: { "last-event-id": "x" } });
    expect(bad.status).toBe(400);
  });

  test("says every 15 seconds that it lives", async () => {
    const ledger = new Ledger();
    await using rig = await httpRig(ledger.answers);
    const listener = new Listener(rig, "/v1/events");
    await listener.until(() => ledger.followers.size === 1 && listener.text.includes("\r\n\r\n"));
    await rig.clock.advance(14_999);
    expect(listener.text).not.toContain("still here");
    await rig.clock.advance(30_001);
    await listener.until(() => listener.text.split("still here").length === 4);
    listener.socket.destroy();
  });

  test("ends for the service when the listener goes away, and leaves no alarm behind", async () => {
    const ledger = new Ledger();
    await using rig = await httpRig(ledger.answers);
    const listener = new Listener(rig, "/v1/events");
    await listener.until(() => ledger.followers.size === 1 && listener.text !== "");
    listener.socket.destroy();
    while (ledger.followers.size > 0) await turn();
    expect(rig.clock.waiting).toEqual([]);
  });

  test("leaves no alarm behind even when the service does not notice", async () => {
    const { promise: followed, resolve: begun } = Promise.withResolvers<void>();
    await using rig = await httpRig({
      follow: () => {
        begun();
        return new Promise(() => undefined);
      },
    });
    const listener = new Listener(rig, "/v1/events");
    await followed;
    expect(rig.clock.waiting).toHaveLength(1);
    listener.socket.destroy();
    await listener.until(() => rig.clock.waiting.length === 0);
  });

  test("ends when the server closes, with all that was told", async () => {
    const ledger = new Ledger();
    await using rig = await httpRig(ledger.answers);
    const listener = new Listener(rig, "/v1/events");
    await listener.until(() => ledger.followers.size === 1);
    ledger.add(3);
    await rig.server.close();
    await listener.until(() => listener.closed);
    expect(listener.ids).toEqual([1, 2, 3]);
    expect(listener.text.endsWith("0\r\n\r\n")).toBe(true);
  });

  test("lets go of a listener that does not listen, who goes on where it was", async () => {
    const ledger = new Ledger();
    await using rig = await httpRig(ledger.answers, { limits: { followBytes: 100_000 } });
    const slow = new Listener(rig, "/v1/events");
    const quick = new Listener(rig, "/v1/events");
    await slow.until(() => ledger.followers.size === 2 && slow.text !== "");
    slow.socket.pause();
    const note = "x".repeat(1_000);
    for (let round = 0; ledger.followers.size === 2; round++) {
      ledger.add(50, { note });
      await quick.until(() => quick.ids.length === ledger.events.length);
      expect(round).toBeLessThan(1_000);
    }
    // Messages from before are still sent; then the stream ends.
    slow.socket.resume();
    await slow.until(() => slow.closed);
    const last = slow.ids.at(-1) ?? 0;
    expect(slow.ids).toEqual(count(1, last));
    expect(last).toBeLessThan(ledger.events.length);
    const again = new Listener(rig, `/v1/events?follow=true&after=${last}`, "");
    await again.until(() => again.ids.at(-1) === ledger.events.length);
    expect(again.ids).toEqual(count(last + 1, ledger.events.length));
    again.socket.destroy();
    quick.socket.destroy();
  });

  test("ends a connection on which nothing arrives any more", async () => {
    const ledger = new Ledger();
    await using rig = await httpRig(ledger.answers, { limits: { followBytes: 100_000 } });
    const slow = new Listener(rig, "/v1/events");
    await slow.until(() => ledger.followers.size === 1 && slow.text !== "");
    slow.socket.pause();
    while (ledger.followers.size > 0) {
      ledger.add(1, { note: "x".repeat(5_000_000) });
      await turn();
    }
    const closed = once(slow.socket, "close");
    await rig.clock.advance(5_000);
    slow.socket.resume();
    await closed;
    expect(slow.text.endsWith("0\r\n\r\n")).toBe(false);
  });

  test("takes no more of the ledger than the listener reads", async () => {
    const ledger = new Ledger();
    ledger.add(5_000, { note: "x".repeat(4_000) });
    let read = 0;
    const { events } = ledger.answers;
    await using rig = await httpRig({
      ...ledger.answers,
      events: (request) => {
        const page = events?.(request) as unknown[];
        read += page.length;
        return page;
      },
    });
    const slow = new Listener(rig, "/v1/events");
    slow.socket.pause();
    for (let no = 0; no < 500; no++) await turn();
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(2_000);
    slow.socket.resume();
    await slow.until(() => slow.text.endsWith("\n\n\r\n") && ledger.followers.size === 1);
    expect(slow.ids).toEqual(count(1, 5_000));
    expect(read).toBe(5_000);
    slow.socket.destroy();
  });
});

describe("following wakes", () => {
  test("gives each as it comes, until the listener goes away", async () => {
    const wakes = ["a", "b"];
    const { promise: over, resolve: ended } = Promise.withResolvers<void>();
    await using rig = await httpRig({
      wake: async (_, waitMs, caller) => {
        const task = waitMs === 0 ? undefined : wakes.shift();
        if (task !== undefined) return { run: "r1", task, until: "", reason: "offered" };
        if (waitMs > 0) {
          await untilGivenUp(caller);
          ended();
        }
        return undefined;
      },
    });
    const listener = new Listener(rig, "/v1/sessions/s1/wakes");
    await listener.until(() => listener.text.split("data: ").length === 3);
    expect(listener.text).toContain(`data: {"run":"r1","task":"b","until":"","reason":"offered"}\n\n`);
    listener.socket.destroy();
    await over;
  });

  test("is refused to a session that is not known", async () => {
    await using rig = await httpRig({
      wake: () => Promise.reject(new UserError("SESSION_UNKNOWN", "No such session")),
    });
    expect((await rig.send({ path: "/v1/sessions/s1/wakes" })).status).toBe(404);
  });
});
