import { describe, expect, test } from "vitest";
import { seconds } from "../../domain/time.ts";
import type { SiteSpec } from "../../simulate/simulate.ts";
import { readWhatIf, withPool } from "./what-if.ts";

const SITE: SiteSpec = {
  nodes: 1,
  workers: 2,
  capacity: { cpu: 2_000, memory: 4 * 2 ** 30, gpu: 0 },
  resources: { claude: 2 },
  rates: { tokens: { amount: 10, per: seconds(1) } },
  priorities: "shares",
  pools: { writers: 1 },
};

describe("the sessions of a pool", () => {
  test("are as many as is said", () => {
    expect(withPool(SITE, "writers=0")).toEqual({ ...SITE, pools: { writers: 0 } });
  });

  test.each([
    ["writers", '"writers" does not say how many sessions a pool has'],
    ["writers=many", '"writers=many" does not say how many'],
    ["writers=99999", "writers must be a whole number from 0 to 10000, not 99999"],
    ["writer=2", 'the plan has no pool "writer". Did you mean "writers"?'],
    ["toString=2", 'the plan has no pool "toString"'],
  ])("%j is refused", (text, message) => {
    expect(() => withPool(SITE, text)).toThrow(message);
  });
});

describe("what if", () => {
  test.each<[string, Partial<SiteSpec>]>([
    ["workers=8", { workers: 8 }],
    ["nodes=3", { nodes: 3 }],
    ["priorities=strict", { priorities: "strict" }],
    ["claude=5", { resources: { claude: 5 } }],
    ["claude=0", { resources: { claude: 0 } }],
    ["cpu=0.5", { capacity: { ...SITE.capacity, cpu: 500 } }],
    ["memory=8GiB", { capacity: { ...SITE.capacity, memory: 8 * 2 ** 30 } }],
    ["gpu=2", { capacity: { ...SITE.capacity, gpu: 2 } }],
    ["tokens=1k/min", { rates: { tokens: { amount: 1_000, per: seconds(60) } } }],
    ["tokens=7", { resources: { claude: 2, tokens: 7 }, rates: {} }],
    ["claude=2/s", { resources: {}, rates: { ...SITE.rates, claude: { amount: 2, per: seconds(1) } } }],
    [" workers = 8 , claude = 3 ", { workers: 8, resources: { claude: 3 } }],
    ["pool.writers=3", { pools: { writers: 3 } }],
    ["workers=8,workers=9", { workers: 9 }],
  ])("%s changes that and nothing else", (text, changed) => {
    expect(readWhatIf(text, SITE)).toEqual({ ...SITE, ...changed });
  });

  test.each([
    ["", '--what-if : "" does not say what is to be how much'],
    ["workers", '--what-if workers: "workers" does not say'],
    ["workers=", '"workers=" does not say'],
    ["workers=4,", '"" does not say'],
    ["workers=0", "workers must be a whole number from 1 to 4096, not 0"],
    ["workers=2.5", "workers must be a whole number from 1 to 4096, not 2.5"],
    ["workers=many", "workers must be a whole number"],
    ["nodes=1025", "nodes must be a whole number from 1 to 1024"],
    ["priorities=strct", "priorities must be one of shares, strict"],
    ["claude=-1", "claude must be"],
    ["claude=1e9", "claude must be"],
    ["memory=8", "memory must be a size such as 512MiB or 4GiB"],
    ["claud=3", 'the plan has no resource "claud". Did you mean "claude"?'],
    ["pool.writer=3", 'Did you mean "pool.writers"?'],
    ["pool.writers=-1", "pool.writers must be a whole number from 0 to 10000, not -1"],
    ["worker=3", 'Did you mean "workers"?'],
    ["__proto__=3", 'the plan has no resource "__proto__"'],
    ["toString=3", 'the plan has no resource "toString"'],
  ])("%j is refused", (text, message) => {
    expect(() => readWhatIf(text, SITE)).toThrow(message);
  });
});
