/** A package registry on this machine that serves what is installed here, so that a test can install a package as a user would, without a network. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

interface Package {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export interface Registry extends AsyncDisposable {
  readonly url: string;
}

const manifestIn = (folder: string): Package =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Package;

/** The archive that `npm publish` would send of the package in this folder. */
export async function packed(folder: string, into: string): Promise<string> {
  const args = ["pack", "--ignore-scripts", "--silent", "--pack-destination", into];
  const { stdout } = await run("npm", args, { cwd: folder });
  return join(into, stdout.trim().split("\n").at(-1) as string);
}

/** Serves what the package in `root` depends on, near and far, from its own `node_modules`. */
export async function openRegistry(root: string, into: string): Promise<Registry> {
  const found = new Map<string, { readonly manifest: Package; readonly archive: string }>();
  const add = async (name: string): Promise<void> => {
    if (found.has(name)) return;
    const folder = join(root, "node_modules", name);
    const manifest = manifestIn(folder);
    found.set(name, { manifest, archive: await packed(folder, into) });
    for (const each of Object.keys(manifest.dependencies ?? {})) await add(each);
  };
  for (const each of Object.keys(manifestIn(root).dependencies ?? {})) await add(each);

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "").slice(1);
    const archive = [...found.values()].find((each) => path === `-/${basename(each.archive)}`)?.archive;
    const { manifest, archive: of } = found.get(path) ?? {};
    if (archive !== undefined) response.end(readFileSync(archive));
    else if (manifest === undefined) response.writeHead(404).end("{}");
    else {
      const { name, version } = manifest;
      const dist = { tarball: `${url}-/${basename(of as string)}` };
      response.end(
        JSON.stringify({ name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } }),
      );
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
