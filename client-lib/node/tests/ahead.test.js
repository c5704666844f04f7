"use strict";
// The option `ahead`: IDs that were fetched before they are asked for. None comes twice, what is left
// returns, and what a killed process had is a gap with a cause.
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
let daemon;
let plain;

before(async () => {
  daemon = await new Daemon({ sequences: { orders: { blocks: true }, others: { blocks: true }, "s*": { blocks: true } } }).start();
  plain = daemon.client();
});
after(async () => {
  await plain?.close();
  await daemon?.close();
});

const sorted = (ids) => [...ids].sort((one, two) => one - two);

/** All IDs that this daemon issued were taken here, each once, and none is lost. */
async function verify(client, name, ids) {
  assert.equal(new Set(ids).size, ids.length, "an ID came twice");
  const audit = await client.call("audit", name);
  assert.deepEqual({ good: audit.good, out: audit.out, gaps: audit.gaps, issued: audit.issued }, { good: true, out: 0, gaps: 0, issued: ids.length });
}

/** Takes IDs until there is a block; before the first lease there can be none. */
const firstBlock = (client, name, ids) => until("a block", async () => {
  ids.push(await client.next(name));
  return (await plain.call("audit", name)).out > 0;
});

test("IDs come without a request each, and what is left returns at close()", async () => {
  const requests = async () => (await plain.call("clients")).clients.find((one) => one.name === "ahead").requests;
  const client = daemon.client({ ahead: AHEAD, name: "ahead" });
  const ids = [];
  await firstBlock(client, "orders", ids);
  const atFirst = await requests();
  while (ids.length < 5_000) ids.push(await client.next("orders"));
  assert.ok(await requests() - atFirst < 2_500, String(await requests() - atFirst));
  await client.close();
  await verify(plain, "orders", ids);
  // What is left is issued before anything else.
  const rest = [];
  while (rest.length < 300) rest.push(await plain.next("orders"));
  assert.deepEqual(sorted([...ids, ...rest]), Array.from({ length: 5_300 }, (_, index) => index + 1));
});

test("several sequences, many callers, other options", async () => {
  const client = daemon.client({ ahead: AHEAD });
  const big = client.with({ bigint: true });
  const taken = { others: [], s1: [], s2: [] };
  await Promise.all(Object.entries(taken).flatMap(([name, ids]) => Array.from({ length: 20 }, async (_, at) => {
    for (let round = 0; round < 100; ++round) {
      const id = at === 0 ? await big.next(name) : await client.next(name);
      assert.equal(typeof id, at === 0 ? "bigint" : "number");
      ids.push(Number(id));
    }
  })));
  assert.match(await client.nextText("s1"), /^[0-9]+$/);
  taken.s1.push(...await client.nextMany("s1", 10));
  const abort = AbortSignal.abort(new Error("over"));
  assert.equal((await errorOf(client.next("s1", { signal: abort }))).message, "over");
  await client.close();
  assert.equal((await errorOf(client.next("s1"))).code, "CLOSED");
  taken.s1.push(0); // in place of the text
  for (const [name, ids] of Object.entries(taken)) await verify(plain, name, ids);
});

test("where there are no blocks, each ID is a request", async () => {
  const client = daemon.client({ ahead: AHEAD });
  for (let id = 1; id <= 300; ++id) assert.equal(await client.next("plain"), id);
  await client.close();
  await verify(plain, "plain", Array.from({ length: 300 }, (_, index) => index));
});

test("more sequences than a client may have blocks of", async () => {
  const client = daemon.client({ ahead: 10 });
  const names = Array.from({ length: 80 }, (_, index) => `s.${index}`);
  const taken = new Map(names.map((name) => [name, []]));
  for (let round = 0; round < 30; ++round)
    await Promise.all(names.map(async (name) => taken.get(name).push(await client.next(name))));
  assert.ok((await plain.status()).out <= 64 * 10);
  await client.close();
  for (const [name, ids] of taken) await verify(plain, name, ids);
});

test("what is not used for a while returns, and is fetched again", async () => {
  const client = daemon.client({ ahead: AHEAD, keep: 200 });
  const ids = [];
  for (let round = 0; round < 3; ++round) {
    await firstBlock(client, "s.rest", ids);
    await until("its end", async () => (await plain.call("audit", "s.rest")).out === 0);
  }
  await verify(plain, "s.rest", ids);
  await client.close();
});

test("a drain and an advance for every host reach a client that is never at rest", async () => {
  const client = daemon.client({ ahead: 1_000, keep: 2_000 });
  const changes = { "s.drained": ["drain", "s.drained"], "s.advanced": ["advance", "s.advanced", 1e9, { everywhere: true }] };
  for (const [name, change] of Object.entries(changes)) {
    await until("a block that lasts longer than this test", async () => {
      await plain.range(name, 20_000); // blocks are as large as the demand
      await client.next(name);
      return (await plain.call("audit", name)).out >= 1_000;
    });
    await plain.call(...change);
    const floor = name === "s.drained" ? (await plain.peek(name)).next : 1e9;
    let calls = 0;
    for (; await client.next(name) < floor && calls < 900; ++calls) await sleep(5);
    assert.ok(calls < 900, "IDs of the block that has ended");
    for (let round = 0; round < 200; ++round) assert.ok(await client.next(name) >= floor);
  }
  await client.close();
});

test("another identity: the blocks of the old one end before it", async () => {
  const client = daemon.client({ ahead: AHEAD, numbers: { first: 1, renew: 20, last: 10_000 } });
  const ids = [];
  while (ids.length < 3_000) ids.push(await client.next("s.renewed"));
  await client.close();
  await verify(plain, "s.renewed", ids);
});

test("another identity while calls are waiting: the blocks of the old one end before it", async () => {
  const ids = await plain.nextMany("s.busy", 20_000); // blocks are as large as the demand
  const client = daemon.client({ ahead: 1_000, numbers: { first: 1, renew: 400, last: 420 } });
  await Promise.all(Array.from({ length: 200 }, async () => {
    for (let round = 0; round < 40; ++round) ids.push(await client.next("s.busy"), ...await client.nextMany("s.busy", 1));
  }));
  await client.close();
  await verify(plain, "s.busy", ids);
});

test("destroy() ends the blocks, too", async () => {
  const client = daemon.client({ ahead: AHEAD });
  const ids = [];
  await firstBlock(client, "s.destroyed", ids);
  ids.push(await client.next("s.destroyed"));
  await client.destroy();
  await until("its end", async () => (await plain.call("audit", "s.destroyed")).out === 0);
  await verify(plain, "s.destroyed", ids);
});

test("destroy() also ends a block that is being fetched", async () => {
  const ids = [];
  for (let round = 0; round < 20; ++round) {
    const client = daemon.client({ ahead: AHEAD });
    for (let at = 0; at < 3; ++at) ids.push(await client.next("s.fetched"));
    await client.destroy();
  }
  await until("their end", async () => (await plain.call("audit", "s.fetched")).out === 0);
  await verify(plain, "s.fetched", ids);
});

test("a client with blocks keeps no process alive, and close() at its end loses nothing", async () => {
  const script = (end) => `const { Client } = require("seqd");
    const client = new Client({ ahead: 100 });
    ${end}
    (async () => { for (let at = 0; at < 250; ++at) await client.next("s.exit"); })();`;
  const run = (text) => finish(execFile(process.execPath, ["-e", text], { cwd: path.resolve(__dirname, ".."), env: { ...process.env, SEQD_SOCKET: daemon.socket } }));
  assert.deepEqual(await run(script('process.once("beforeExit", () => client.close());')), { code: 0, signal: null, stdout: "", stderr: "" });
  const audit = await plain.call("audit", "s.exit");
  assert.deepEqual([audit.out, audit.gaps, audit.issued], [0, 0, 250]);
  assert.deepEqual(await run(script("")), { code: 0, signal: null, stdout: "", stderr: "" });
});

for (const [name, end] of Object.entries({
  "process.exit()": "process.exit();",
  "an uncaught exception": 'setImmediate(() => { throw new Error("uncaught"); });',
  "an unhandled rejection": 'Promise.reject(new Error("unhandled"));',
  "the end of its work": "",
})) {
  for (const place of ["process", "worker thread"]) {
    test(`a ${place} that ends by ${name}: destroy() at its "exit" loses nothing`, async () => {
      const sequence = `s.${place}.${name}`.replace(/[^a-z.]/g, "");
      const body = `const { Client } = require("seqd");
        const client = new Client({ ahead: 100 });
        process.once("exit", () => client.destroy());
        (async () => { for (let at = 0; at < 250; ++at) await client.next("${sequence}"); ${end} })();`;
      const inThread = `new (require("node:worker_threads").Worker)(${JSON.stringify(body)}, { eval: true }).on("error", () => {});`;
      await finish(execFile(process.execPath, ["-e", place === "process" ? body : inThread], { cwd: path.resolve(__dirname, ".."), env: { ...process.env, SEQD_SOCKET: daemon.socket } }));
      await until("the end of its blocks", async () => (await plain.call("audit", sequence)).out === 0);
      const { issued, gaps } = await plain.call("audit", sequence);
      assert.deepEqual([issued, gaps], [250, 0]);
    });
  }
}

test("an option that is none", () => {
  for (const ahead of [-1, 1.5, "100", 1_000_001, NaN, null])
    assert.throws(() => new seqd.Client({ ahead }), { code: "ARGUMENT" });
});

test(`${KILLS} kills of the daemon`, { timeout: KILLS * 5_000 + 60_000 }, async (t) => {
  const own = await startDaemon((end) => t.after(end), { sequences: { orders: { blocks: true }, others: { blocks: true } } });
  const clients = Array.from({ length: 3 }, () => own.client({ ahead: AHEAD }));
  const taken = { orders: [], others: [] };
  let kills = 0;
  const take = async (client, name) => { while (kills < KILLS) taken[name].push(await client.next(name)); };
  const all = Promise.all(clients.flatMap((client) => Object.keys(taken).flatMap((name) => Array.from({ length: 10 }, () => take(client, name)))));
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
    t.diagnostic(`${name}: ${kills} kills and stops, ${ids.length} IDs`);
    await verify(looks, name, ids);
  }
  await looks.close();
});

test("processes that are killed leave gaps with a cause, and nothing comes twice", { timeout: 120_000 }, async (t) => {
  const own = await startDaemon((end) => t.after(end), { sequences: { orders: { blocks: true } } });
  const script = `const { Client } = require("seqd");
    const { writeSync } = require("node:fs");
    const client = new Client({ ahead: 100 });
    (async () => { for (;;) writeSync(1, (await client.next("orders")) + "\\n"); })();`;
  const ids = [];
  for (let round = 0; round < KILLS / 2; ++round) {
    const child = spawn(process.execPath, ["-e", script], { cwd: path.resolve(__dirname, ".."), env: { ...process.env, SEQD_SOCKET: own.socket } });
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (more) => { text += more; });
    await until("some IDs", () => text.length > 2_000);
    child.kill("SIGKILL");
    await once(child, "close");
    // The last one may have been written in part.
    ids.push(...text.slice(0, text.lastIndexOf("\n")).split("\n").map(Number));
  }
  const looks = own.client();
  const audit = await until("the blocks end", async () => {
    const now = await looks.call("audit", "orders");
    return now.out === 0 && now;
  });
  assert.ok(audit.good);
  assert.equal(new Set(ids).size, ids.length);
  const { gaps } = await looks.call("gaps", "orders", { limit: 1_000 });
  assert.ok(gaps.length > 0 && gaps.every((gap) => gap.cause === "block_untold"), JSON.stringify(gaps));
  assert.equal(gaps.reduce((sum, gap) => sum + gap.count, 0), audit.gaps);
  const highest = ids.reduce((most, id) => Math.max(most, id), 0);
  const known = new Set(ids);
  for (const { first, count } of gaps) for (let id = first; id < first + count; ++id) known.add(id);
  // Each one below is in a gap, or was issued: perhaps by a request whose reply the process did not live to write.
  let lost = 0;
  for (let id = 1; id <= highest; ++id) {
    if (known.has(id)) continue;
    const { answer } = await looks.call("explain", "orders", id);
    assert.ok(answer === "issued" || answer === "available", `${id}: ${answer}`);
    ++lost;
  }
  t.diagnostic(`${ids.length} IDs, ${audit.gaps} in gaps, ${lost} issued and not written`);
  await looks.close();
});
