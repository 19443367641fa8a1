import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { HttpRig, httpRig } from "../../test/rig/http.ts";
import { scriptedService } from "../../test/rig/service.ts";
import { connect } from "../wire/client.ts";
import { socketAddress } from "../wire/place.ts";
import { parseAddress } from "./address.ts";

const mode = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

describe("the socket", () => {
  test("takes in a thousand callers that come at the same moment", async () => {
    await using rig = await httpRig();
    const callers = Array.from({ length: 1_000 }, () => createConnection(rig.server.socket));
    const met = await Promise.allSettled(callers.map((caller) => once(caller, "connect")));
    for (const caller of callers) caller.destroy();
    expect(met.filter(({ status }) => status === "rejected")).toEqual([]);
  });

  test("is its owner's alone, in a directory that is too", async () => {
    await using rig = await httpRig();
    expect(rig.server.socket).toBe(join(rig.state, "rota.sock"));
    expect([mode(rig.state), mode(rig.server.socket)]).toEqual(["700", "600"]);
  });

  test("has no wider rights at the moment it appears, and the mask is as before", async () => {
    const before = process.umask(0);
    try {
      const rig = new HttpRig();
      await using _ = rig;
      const modes: string[] = [];
      const promise = rig.start(scriptedService(), { listen: undefined as never });
      // The folder and the socket are made within the call and the next few turns; the test looks at each turn.
      for (let turn = 0; turn < 50; turn++) {
        await new Promise((resolve) => void setImmediate(resolve));
        const found = lstatSync(join(rig.state, "rota.sock"), { throwIfNoEntry: false });
        if (found !== undefined) modes.push((found.mode & 0o777).toString(8));
      }
      await promise;
      expect(new Set(modes)).toEqual(new Set(["600"]));
      expect(process.umask()).toBe(0);
    } finally {
      process.umask(before);
    }
  });

  test("makes a directory private that was not", async () => {
    const rig = new HttpRig();
    await using _ = rig;
    mkdirSync(rig.state, { mode: 0o755 });
    chmodSync(rig.state, 0o755);
    await rig.start(scriptedService());
    expect(mode(rig.state)).toBe("700");
  });

  test("is refused in a directory that is there for all", async () => {
    const rig = new HttpRig();
    await using _ = rig;
    mkdirSync(rig.state);
    chmodSync(rig.state, 0o1777);
    await expect(rig.start(scriptedService())).rejects.toMatchObject({ code: "STATE_UNUSABLE" });
    expect(mode(rig.state)).toBe("1777");
  });

  test("goes away when the server closes", async () => {
    await using rig = await httpRig();
    await rig.server.close();
    expect(lstatSync(rig.server.socket, { throwIfNoEntry: false })).toBeUndefined();
  });

  test("of a dead daemon is replaced", async () => {
    const rig = new HttpRig();
    await using _ = rig;
    mkdirSync(rig.state, { mode: 0o700 });
    const path = join(rig.state, "rota.sock");
    // As a crash leaves it: the file is there, and no process listens.
    const program = `require("net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", program]);
    expect(lstatSync(path).isSocket()).toBe(true);
    await rig.start(scriptedService());
    expect((await rig.send({})).status).toBe(200);
  });

  test("of a living daemon is left alone", async () => {
    await using rig = await httpRig();
    const other = new HttpRig();
    await using _ = other;
    await expect(other.start(scriptedService(), { socket: rig.server.socket })).rejects.toMatchObject({
      code: "STATE_BUSY",
      message: expect.stringContaining(rig.server.socket),
    });
    expect((await rig.send({})).status).toBe(200);
  });

  test("never replaces a file that is something else", async () => {
    const rig = new HttpRig();
    await using _ = rig;
    mkdirSync(rig.state, { mode: 0o700 });
    writeFileSync(join(rig.state, "rota.sock"), "mine");
    await expect(rig.start(scriptedService())).rejects.toMatchObject({ code: "STATE_UNUSABLE" });
    expect(readFileSync(join(rig.state, "rota.sock"), "utf8")).toBe("mine");
  });

  test("whose path is too long is a link to a short one, and is found, replaced and removed all the same", async () => {
    const rig = new HttpRig();
    await using _ = rig;
    const state = join(rig.folder, "d".repeat(120));
    await rig.start(scriptedService(), { state, listen: undefined as never });
    const short = socketAddress(rig.server.socket);
    expect(lstatSync(rig.server.socket).isSymbolicLink()).toBe(true);
    expect([mode(short), mode(dirname(short))]).toEqual(["600", "700"]);
    await using client = connect({ state });
    expect((await client.info()).version).toBe("0.1.0");
    const other = new HttpRig();
    await using __ = other;
    await expect(other.start(scriptedService(), { state })).rejects.toMatchObject({ code: "STATE_BUSY" });
    await rig.server.close();
    expect(lstatSync(rig.server.socket, { throwIfNoEntry: false })).toBeUndefined();
    // What a crash leaves is a link that leads nowhere.
    symlinkSync(short, rig.server.socket);
    await rig.start(scriptedService(), { state, listen: undefined as never });
    expect((await client.info()).version).toBe("0.1.0");
    rmSync(rig.server.socket);
  });
});

describe("listening on TCP", () => {
  test("happens only on request", async () => {
    await using rig = await httpRig({}, { listen: undefined as never });
    expect(rig.server).not.toHaveProperty("url");
    expect(lstatSync(join(rig.state, "token"), { throwIfNoEntry: false })).toBeUndefined();
  });

  test.each(["127.0.0.1:0", "localhost:0", "127.9.9.9:0"])("is possible at %s", async (listen) => {
    await using rig = await httpRig({}, { listen });
    expect(rig.server.url).toMatch(/^http:\/\/127\.\d+\.\d+\.\d+:\d+$/);
    expect(mode(join(rig.state, "token"))).toBe("600");
  });

  test.each([
    "0.0.0.0:80",
    ":::80",
    "[::]:80",
    "192.168.1.1:80",
    "example.org:80",
    "10.0.0.1:0",
    "127.0.0.1.evil.org:80",
    "[::1%eth0]:80",
    "2130706433:80",
  ])("is refused at %s", (listen) => {
    expect(() => parseAddress(listen)).toThrow(expect.objectContaining({ code: "LISTEN_REFUSED" }));
  });

  test.each(["", "7777", ":7777", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "127.0.0.1:-1"])(
    "needs a host and a port, which `%s` is not",
    (listen) => {
      expect(() => parseAddress(listen)).toThrow(expect.objectContaining({ code: "LISTEN_REFUSED" }));
    },
  );

  test("on a port that is taken fails, and leaves nothing behind", async () => {
    await using rig = await httpRig();
    const other = new HttpRig();
    await using _ = other;
    const starting = other.start(scriptedService(), { listen: `127.0.0.1:${rig.port}` });
    await expect(starting).rejects.toMatchObject({ code: "LISTEN_REFUSED" });
    expect(lstatSync(join(other.state, "rota.sock"), { throwIfNoEntry: false })).toBeUndefined();
  });

  test("answers to its names with the port, and to no other", async () => {
    await using rig = await httpRig();
    const ask = async (host: string) =>
      (await rig.send({ over: "tcp", token: rig.ownerToken, headers: { host } })).status;
    const { port } = rig;
    const hosts = [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      "127.0.0.1",
      "localhost",
      `localhost:${port + 1}`,
      `LOCALHOST.:${port}`,
    ];
    expect(await Promise.all(hosts.map(ask))).toEqual([200, 200, 403, 403, 403, 403]);
  });
});
