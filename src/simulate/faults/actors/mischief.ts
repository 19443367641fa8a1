/** Makes things fail, as often and as hard as the seed says, until the faults end. */
import { instant, type Millis, millis } from "../../../domain/time.ts";
import type { Chance } from "../seed/chance.ts";
import type { FaultKind } from "../seed/fault-kinds.ts";
import type { Arena } from "../world/arena.ts";
import { CUTS } from "../world/network.ts";
import { forge } from "./forger.ts";

/** What one more fault of a kind does, and the span between two faults at the highest rate. */
interface Mishap {
  readonly every: Millis;
  readonly happen: (arena: Arena, chance: Chance, amount: number) => void;
}

const MISHAPS: Readonly<Partial<Record<FaultKind, Mishap>>> = {
  crash: { every: millis(10_000), happen: crash },
  usurp: { every: millis(20_000), happen: (arena) => void arena.boot(true) },
  freeze: { every: millis(20_000), happen: freeze },
  jump: { every: millis(20_000), happen: jump },
  full: { every: millis(30_000), happen: fill },
  partition: { every: millis(10_000), happen: cut },
  zombie: { every: millis(10_000), happen: stand },
  desert: { every: millis(15_000), happen: desert },
  meddle: { every: millis(2_000), happen: (arena) => arena.people.meddle() },
  forge: { every: millis(5_000), happen: forge },
  power: { every: millis(60_000), happen: (arena, chance) => strike(arena, chance, () => arena.cutPower()) },
};

export function startMischief(arena: Arena): void {
  const { faults } = arena.scenario;
  for (const kind in MISHAPS) {
    const amount = faults[kind as FaultKind];
    if (amount !== undefined) repeat(arena, arena.chance.fork(kind), amount, MISHAPS[kind as FaultKind] as Mishap);
  }
}

function repeat(arena: Arena, chance: Chance, amount: number, mishap: Mishap): void {
  const gap = chance.span(mishap.every / 4, (mishap.every * 2) / amount);
  arena.after(gap, () => {
    if (arena.isWell) return;
    mishap.happen(arena, chance, amount);
    repeat(arena, chance, amount, mishap);
  });
}

function crash(arena: Arena, chance: Chance): void {
  strike(arena, chance, () => {
    const { vanish } = arena.scenario.faults;
    for (const scheduler of arena.schedulers) {
      if (chance.flip(0.7)) arena.kill(scheduler, "it was killed");
    }
    if (vanish !== undefined) arena.machine.vanish(() => chance.flip(vanish));
  });
}

/** At any moment, or in the middle of a write. */
function strike({ disk }: Arena, chance: Chance, happen: () => void): void {
  if (chance.flip(0.5)) happen();
  else disk.amidst(happen);
}

function freeze(arena: Arena, chance: Chance, amount: number): void {
  const scheduler = chance.pick(arena.schedulers);
  if (scheduler === undefined || scheduler.life.isFrozen) return;
  const span = chance.span(100, 90_000 * amount);
  arena.trace.add(`${scheduler.name} stands still for ${span} ms`);
  scheduler.life.freeze();
  arena.after(span, () => {
    scheduler.slept();
    scheduler.life.thaw();
  });
}

function jump(arena: Arena, chance: Chance, amount: number): void {
  const { current } = arena;
  if (current === undefined) return;
  const by = chance.span(1, 3_600_000 * amount);
  arena.trace.add(`${current.name} is set forward by ${by} ms`);
  current.clock.jump(by);
  arena.setOff += by;
  current.slept();
}

function fill(arena: Arena, chance: Chance): void {
  arena.trace.add("the disk is full");
  arena.disk.full = true;
  arena.after(chance.span(500, 30_000), () => {
    arena.disk.full = false;
  });
}

function cut(arena: Arena, chance: Chance, amount: number): void {
  const { network, trace } = arena;
  const agents = arena.agents.all;
  const client = agents.length === 0 ? "people" : chance.pick(agents).id;
  const how = chance.pick(CUTS);
  trace.add(`${client} is cut off: ${how}`);
  network.cut(client, how);
  arena.after(chance.span(500, 120_000 * amount), () => network.mend(client));
}

function stand(arena: Arena, chance: Chance): void {
  const { trace } = arena;
  const agents = arena.agents.all;
  const agent = agents.length === 0 ? undefined : chance.pick(agents);
  if (agent === undefined || agent.life.isFrozen) return;
  const { ttl } = agent.draft.profile;
  const span = chance.span(ttl * 0.5, ttl * 4);
  trace.add(`${agent.id} stands still for ${span} ms`);
  agent.life.freeze();
  arena.after(span, () => agent.life.thaw());
}

function desert(arena: Arena, chance: Chance): void {
  const { trace } = arena;
  const agents = arena.agents.all;
  const agent = agents.length === 0 ? undefined : chance.pick(agents);
  if (agent === undefined || !agent.life.isAlive) return;
  trace.add(`${agent.id} dies`);
  agent.life.end();
  if (chance.flip(0.7))
    arena.after(chance.span(100, 60_000), () => arena.agents.enlist({ ...agent.draft, after: millis(0) }));
}

/** Every stopped process goes on. */
export function calm(arena: Arena): void {
  arena.isWell = true;
  arena.trace.add("all is well");
  arena.disk.heal();
  arena.network.heal();
  for (const { life } of arena.agents.all) life.thaw();
  for (const scheduler of arena.schedulers) {
    if (scheduler.life.isFrozen) scheduler.slept();
    scheduler.life.thaw();
  }
  arena.monitor.movedAt = instant(arena.clock.now());
}
