"use strict";
// The option `ahead`: IDs that were fetched before they are asked for. None comes twice, they come in the order of
// the calls, and what the end of a program costs is what it had fetched, which counts as issued to it.
const { test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const { execFile, spawn } = require("node:child_process");
const path = require("node:path");
const { once } = require("node:events");
const { setTimeout: sleep } = require("node:timers/promises");
const seqd = require("../lib/index.js");
const { Daemon, startDaemon } = require("./support/daemon.js");
const { errorOf, finish, until } = require("./support/waiting.js");

const KILLS = Number(process.env.KILLS ?? 20);
const AHEAD = 100;
const SEQUENCES = {
  "s.*": {},
  daily: { period: "day" },
  down: { start: -1, increment: -5 },
  few: { max_available: 20 },
  short: { max_value: 250 },
  high: { first_id: 2n ** 53n - 151n, max_value: 2n ** 60n },
};
let daemon;
let plain;

before(async () => {
  daemon = await new Daemon({ sequences: SEQUENCES }).start();
  plain = daemon.client();
});
after(async () => {
  await plain?.close();
  await daemon?.close();
});

const upTo = (count, first = 1, step = 1) => Array.from({ length: count }, (_, index) => first + index * step);
const folder = path.resolve(__dirname, "..");
const environment = (socket) => ({ ...process.env, SEQD_SOCKET: socket });

/** No ID came twice, none is a gap, and at most `most` were issued that no call got. */
async function verify(client, name, ids, most) {
  assert.equal(new Set(ids).size, ids.length, "an ID came twice");
  const audit = await client.call("audit", name);
  assert.deepEqual({ good: audit.good, gaps: audit.gaps }, { good: true, gaps: 0 });
  assert.ok(audit.issued >= ids.length && audit.issued - ids.length <= most, `${audit.issued} issued, ${ids.length} taken`);
  return audit.issued - ids.length;
}

test("IDs come in their order without a request each, and close() costs what was fetched", async () => {
  const requests = async () => (await plain.call("clients")).clients.find((one) => one.name === "ahead").requests;
  const client = daemon.client({ ahead: AHEAD, name: "ahead" });
  const ids = [];
  while (ids.length < 5_000) ids.push(await client.next("s.orders"));
  assert.deepEqual(ids, upTo(5_000));
  const sent = await requests();
  assert.ok(sent < 500, `${sent} requests`);
  await client.close();
  const left = await verify(plain, "s.orders", ids, AHEAD);
  assert.ok(left > 0);
  // They are no gap: they were issued to this process.
  const { answer, issued } = await plain.call("explain", "s.orders", 5_001);
  assert.equal(answer, "issued");
  assert.deepEqual(issued.callers.map(({ pid, name }) => [pid, name]), [[process.pid, "ahead"]]);
  assert.equal(await plain.next("s.orders"), 5_000 + left + 1);
});

test("a program that takes one ID fetches no others", async () => {
  const client = daemon.client({ ahead: AHEAD });
  for (const name of ["s.one", "s.two"]) assert.equal(await client.next(name), 1);
  await client.close();
  for (const name of ["s.one", "s.two"]) assert.equal((await plain.call("audit", name)).issued, 1);
});

test("many callers and several sequences: IDs in the order of the calls", async () => {
  const client = daemon.client({ ahead: AHEAD });
  const big = client.with({ bigint: true });
  const taken = { "s.a": [], "s.b": [], "s.c": [] };
  for (let round = 0; round < 50; ++round) {
    await Promise.all(Object.entries(taken).flatMap(([name, ids]) => upTo(150).map(async (at) => {
      const place = ids.length;
      ids.push(undefined);
      const id = at % 20 === 0 ? await big.next(name) : await client.next(name);
      assert.equal(typeof id, at % 20 === 0 ? "bigint" : "number");
      ids[place] = Number(id);
    })));
  }
  for (const ids of Object.values(taken)) assert.deepEqual(ids, upTo(7_500));
  // Other methods make requests, and their IDs are higher than the fetched ones.
  assert.ok(Number(await client.nextText("s.a")) > 7_500);
  taken["s.a"].push(...await client.nextMany("s.a", 10), 0); // 0: in place of the text
  assert.equal(await client.next("s.a"), 7_501);
  taken["s.a"].push(7_501);
  await client.close();
  assert.equal((await errorOf(client.next("s.a"))).code, "CLOSED");
  for (const [name, ids] of Object.entries(taken)) await verify(plain, name, ids, AHEAD);
});

test("a sequence with periods: each ID is a request", async () => {
  const client = daemon.client({ ahead: AHEAD });
  for (let id = 1; id <= 300; ++id) assert.equal(await client.next("daily"), id);
  await client.close();
  const [{ name, issued }] = await plain.call("list", "daily");
  assert.match(name, /^daily@/);
  assert.equal(issued, 300);
});

test("IDs that go down in steps, and IDs that a number cannot hold", async () => {
  const client = daemon.client({ ahead: AHEAD });
  const ids = [];
  while (ids.length < 500) ids.push(await client.next("down"));
  assert.deepEqual(ids, upTo(500, -1, -5));
  const first = 2n ** 53n - 151n;
  for (let at = 0n; at < 151n; ++at) assert.equal(await client.next("high"), Number(first + at));
  const error = await errorOf(client.next("high"));
  assert.ok(error instanceof seqd.UnsafeIdError && error.result === 2n ** 53n);
  assert.equal(await client.next("high", { bigint: true }), 2n ** 53n + 1n);
  await client.close();
});

test("the end of a sequence, and one that has fewer IDs than are to be fetched", async () => {
  const client = daemon.client({ ahead: AHEAD });
  for (let id = 1; id <= 250; ++id) assert.equal(await client.next("short"), id);
  assert.equal((await errorOf(client.next("short"))).code, "EXHAUSTED");
  for (let id = 1; id <= 100; ++id) assert.equal(await client.next("few"), id);
  assert.equal((await errorOf(client.next("no name"))).code, "BAD_REQUEST");
  assert.equal((await errorOf(client.next("no name"))).code, "BAD_REQUEST");
  await client.close();
});

test("the daemon's limit of one range", async (t) => {
  const own = await startDaemon((end) => t.after(end), { limits: { max_count: 7 } });
  const client = own.client({ ahead: AHEAD });
  const ids = [];
  while (ids.length < 1_000) ids.push(...await Promise.all(upTo(20).map(() => client.next("orders"))));
  assert.deepEqual(ids, upTo(1_000));
  await client.close();
  const looks = own.client();
  await verify(looks, "orders", ids, AHEAD);
  await looks.close();
});

test("an option that is none", () => {
  for (const ahead of [-1, 1.5, "100", 1_000_001, NaN, null])
    assert.throws(() => new seqd.Client({ ahead }), { code: "ARGUMENT" });
});

test("a daemon that stands still: calls end at their time or by their signal, and take nothing", async (t) => {
  const own = await startDaemon((end) => t.after(end));
  const client = own.client({ ahead: 10 });
  const ids = [];
  while (ids.length < 50) ids.push(await client.next("orders"));
  // While the first lease was under way a range may have been refused, and is not requested for a while.
  await sleep(200);
  ids.push(await client.next("orders"));
  own.process.kill("SIGSTOP");
  // What was fetched is here; then calls wait for the range that was asked for.
  for (;;) {
    const abort = new AbortController();
    const call = client.next("orders", { signal: abort.signal });
    const isOver = await Promise.race([call.then((id) => void ids.push(id)), sleep(100, true)]);
    if (!isOver) continue;
    abort.abort(new Error("over"));
    assert.equal((await errorOf(call)).message, "over");
    break;
  }
  assert.equal((await errorOf(client.next("orders", { timeout: 50 }))).code, "TIMEOUT");
  assert.equal((await errorOf(client.next("orders", { signal: AbortSignal.abort(new Error("before")) }))).message, "before");
  own.process.kill("SIGCONT");
  while (ids.length < 200) ids.push(await client.next("orders"));
  assert.deepEqual(ids, upTo(200));
  await client.close();
});

test("another identity, also while calls are waiting", async () => {
  const client = daemon.client({ ahead: 10, numbers: { first: 1, renew: 40, last: 60 } });
  const ids = [];
  while (ids.length < 2_000) ids.push(...await Promise.all(upTo(25).map(() => client.next("s.renewed"))));
  assert.deepEqual(ids, upTo(2_000));
  await client.close();
  await verify(plain, "s.renewed", ids, 10);
});

test("close() serves the calls that wait, destroy() rejects them", async () => {
  const client = daemon.client({ ahead: AHEAD });
  for (let at = 0; at < 10; ++at) await client.next("s.closed");
  const calls = upTo(500).map(() => client.next("s.closed"));
  await client.close();
  assert.equal(new Set(await Promise.all(calls)).size, 500);
  const other = daemon.client({ ahead: AHEAD });
  for (let at = 0; at < 10; ++at) await other.next("s.closed");
  const late = upTo(500).map(() => other.next("s.closed").catch((error) => error.code));
  await other.destroy();
  assert.equal((await Promise.all(late)).at(-1), "CLOSED");
});

// What each end costs: at most `ahead` IDs, which count as issued.
const SCRIPT = (end) => `const { Client } = require("seqd");
  const client = new Client({ ahead: ${AHEAD} });
  (async () => { for (let at = 0; at < 250; ++at) await client.next("s.exit"); ${end} })();`;
for (const [name, end] of Object.entries({
  "the end of its work": "",
  "close()": "await client.close();",
  "process.exit()": "process.exit();",
  "SIGKILL": 'process.kill(process.pid, "SIGKILL");',
})) {
  test(`a process that ends by ${name} costs what it had fetched`, async () => {
    const before = (await plain.call("list", "s.exit"))[0]?.issued ?? 0;
    const { stderr } = await finish(execFile(process.execPath, ["-e", SCRIPT(end)], { cwd: folder, env: environment(daemon.socket) }));
    assert.equal(stderr, "");
    const { issued, gaps, good } = await plain.call("audit", "s.exit");
    assert.deepEqual([good, gaps], [true, 0]);
    assert.ok(issued - before >= 250 && issued - before <= 250 + AHEAD, `${issued - before} IDs`);
  });
}

test(`${KILLS} kills of the daemon`, { timeout: KILLS * 5_000 + 60_000 }, async (t) => {
  const own = await startDaemon((end) => t.after(end));
  const clients = upTo(3).map(() => own.client({ ahead: AHEAD }));
  const taken = { orders: [], others: [] };
  let kills = 0;
  const take = async (client, name) => {
    for (let last = 0; kills < KILLS;) {
      const id = await client.next(name);
      assert.ok(id > last, `${id} after ${last}`);
      taken[name].push(last = id);
    }
  };
  const all = Promise.all(clients.flatMap((client) => Object.keys(taken).flatMap((name) => upTo(10).map(() => take(client, name)))));
  const killing = (async () => {
    while (kills < KILLS) {
      await Promise.race([sleep(Math.random() * 60), all]);
      await own.kill(kills % 5 === 4 ? "SIGTERM" : "SIGKILL");
      own.spawn();
      const before = taken.orders.length;
      await Promise.race([until("life goes on", () => taken.orders.length > before + 20 * AHEAD), all]);
      ++kills;
    }
  })();
  await Promise.all([all, killing]);
  await Promise.all(clients.map((client) => client.close()));
  const looks = own.client();
  for (const [name, ids] of Object.entries(taken)) {
    const left = await verify(looks, name, ids, clients.length * AHEAD);
    t.diagnostic(`${name}: ${kills} kills and stops, ${ids.length} IDs, ${left} fetched and not taken`);
  }
  await looks.close();
});

test("processes that are killed: nothing comes twice", { timeout: 120_000 }, async (t) => {
  const own = await startDaemon((end) => t.after(end));
  const script = `const { Client } = require("seqd");
    const { writeSync } = require("node:fs");
    const client = new Client({ ahead: ${AHEAD} });
    (async () => { for (;;) writeSync(1, (await client.next("orders")) + "\\n"); })();`;
  const ids = [];
  let rounds = 0;
  for (; rounds < KILLS / 2; ++rounds) {
    const child = spawn(process.execPath, ["-e", script], { cwd: folder, env: environment(own.socket) });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more) => { text += more; });
    await until("some IDs", () => text.length > 2_000);
    child.kill("SIGKILL");
    await once(child, "close");
    // The last one may have been written in part.
    ids.push(...text.slice(0, text.lastIndexOf("\n")).split("\n").map(Number));
  }
  const looks = own.client();
  const lost = await verify(looks, "orders", ids, rounds * (AHEAD + 2));
  t.diagnostic(`${ids.length} IDs, ${lost} fetched and not written`);
  await looks.close();
});
