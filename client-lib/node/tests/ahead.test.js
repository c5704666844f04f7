"use strict";
// The option `ahead`: IDs that were fetched before they are asked for. None comes twice, what is left
// returns, and what a killed process had is a gap with a cause.
const { test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const { execFile, spawn } = require("node:child_process");
const { renameSync, rmSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const { once } = require("node:events");
const { setTimeout: sleep } = require("node:timers/promises");
const seqd = require("../lib/index.js");
const { Daemon, startDaemon } = require("./support/daemon.js");
const { startScripted } = require("./support/scripted.js");
const { errorOf, finish, until } = require("./support/waiting.js");

const KILLS = Number(process.env.KILLS ?? 20);
const AHEAD = 100;
let daemon;
let plain;

before(async () => {
  daemon = await new Daemon({ sequences: { orders: { blocks: true }, others: { blocks: true }, "s*": { blocks: true }, "large.*": { blocks: true, lease_min: 100_000 } } }).start();
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
  const client = daemon.client({ ahead: 20_000, keep: 500 });
  const changes = { "large.drained": ["drain", "large.drained"], "large.advanced": ["advance", "large.advanced", 1_000_000, { everywhere: true }] };
  for (const [name, change] of Object.entries(changes)) {
    // The first block is one that lasts longer than this test.
    await plain.next(name);
    await until("many IDs", async () => (await plain.peek(name)).available > 50_000);
    await until("a block", async () => {
      await client.next(name);
      return (await plain.call("audit", name)).out > 10_000;
    });
    await plain.call(...change);
    const { next } = await plain.peek(name);
    const floor = name === "large.drained" ? next : 1_000_000;
    await until("an ID from behind it", async () => Number(await client.next(name)) >= floor);
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

test("a program that takes one ID fetches no others", async (t) => {
  const { client, calls } = await setUp(t, (peer, [kind, number, method]) => {
    if (kind === 0) peer.reply(number, method === "block" ? [1, 1, 10] : 100 + number);
  });
  for (const name of ["a", "b", "c"]) await client.next(name);
  assert.deepEqual(calls("block"), []);
  await until("the block", async () => await client.next("a") === 1);
  assert.deepEqual(calls("block").map((message) => message[4][0]), ["a"]);
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
  const highest = Math.max(...ids);
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

// --- servers that do what no daemon does

async function setUp(t, script, options) {
  const server = await startScripted((end) => t.after(end), (peer, message) => {
    if (message[2] === "hello") peer.hello();
    else script(peer, message);
  });
  const client = new seqd.Client({ socket: server.socket, timeout: 60_000, ahead: 10, ...options });
  t.after(() => client.destroy());
  return { server, client, calls: (method) => server.messages.filter((message) => message[3] === method) };
}

const NO_BLOCKS = { "a number": 5, "nil": null, "two numbers": [1, 1], "another step": [1, 2, 5], "no IDs": [1, 1, 0], "more than asked for": [1, 1, 11], "a fraction": [0.5, 1, 1], "a text": ["1", 1, 1] };
for (const [name, reply] of Object.entries(NO_BLOCKS)) {
  test(`${name} instead of a block: nothing is taken of it, and it is ended`, async (t) => {
    let id = 100;
    const { client, calls } = await setUp(t, (peer, [kind, number, method]) => {
      if (kind !== 0) return;
      peer.reply(number, method === "block" ? reply : method === "next" ? ++id : 0);
    });
    assert.equal(await client.next("a"), 101);
    assert.equal(await client.next("a"), 102);
    const [[, , block]] = await until("the end", () => calls("end_block").length > 0 && calls("block"));
    assert.deepEqual(calls("end_block").map((message) => message[4]), [["a", block, 0]]);
    assert.equal(await client.next("a"), 103);
    assert.equal(calls("block").length, 1);
    await client.close();
  });
}

test("a block without a reply: nobody waits for it, close() neither", async (t) => {
  let id = 0;
  const { client, calls } = await setUp(t, (peer, [kind, number, method]) => {
    if (kind === 0 && method === "next") peer.reply(number, ++id);
  });
  for (let at = 1; at <= 50; ++at) assert.equal(await client.next("a"), at);
  assert.equal(client.pending, 0);
  assert.equal(calls("block").length, 1);
  await client.close();
});

for (const end of ["close", "destroy"]) {
  test(`${end}() without a reply to the request for a block: its end follows it`, async (t) => {
    let id = 0;
    const { client, calls } = await setUp(t, (peer, [kind, number, method]) => {
      if (kind === 0 && method === "next") peer.reply(number, ++id);
    });
    await client.next("a");
    await client.next("a");
    const [[, , block]] = await until("the request", () => calls("block").length > 0 && calls("block"));
    await client[end]();
    await until("the end", () => calls("end_block").length > 0);
    assert.deepEqual(calls("end_block").map((message) => message[4]), [["a", block, 0]]);
  });
}

test("a block is not kept, however much is left of it and however often it is used", async (t) => {
  let blocks = 0;
  const { client, calls } = await setUp(t, (peer, [kind, number, method]) => {
    if (kind !== 0) return;
    peer.reply(number, method === "block" ? [1_000_000 * ++blocks, 1, 1_000_000] : method === "next" ? number : 0);
  }, { ahead: 1_000_000, keep: 100 });
  const taken = new Map(); // by the number of the block
  await until("the end of three blocks", async () => {
    const id = await client.next("a");
    const block = Math.floor(id / 1_000_000);
    if (block > 0) taken.set(block, [...(taken.get(block) ?? []), id]);
    return calls("end_block").length >= 3;
  });
  calls("end_block").slice(0, 3).forEach((message, at) => {
    const ids = taken.get(at + 1) ?? [];
    assert.deepEqual(message[4], ["a", calls("block")[at][2], ids.length]);
    assert.deepEqual(ids, ids.map((_, index) => 1_000_000 * (at + 1) + index));
  });
});

const TROUBLES = {
  "another program at the socket": (server) => {
    server.isOther = true;
    return () => { server.isOther = false; };
  },
  "a path that is none": (server) => {
    const folder = path.dirname(server.socket);
    renameSync(folder, `${folder}.away`);
    writeFileSync(folder, "");
    return () => {
      rmSync(folder);
      renameSync(`${folder}.away`, folder);
    };
  },
};
for (const [name, begin] of Object.entries(TROUBLES)) {
  test(`${name} for a while: a client that holds a block comes back, and says what ended`, async (t) => {
    const server = await startScripted((end) => t.after(end), (peer, [kind, number, method]) => {
      if (server.isOther) return peer.raw(Buffer.of(0xc1));
      if (method === "hello") return peer.hello();
      if (kind !== 0) return;
      if (method === "block") return peer.reply(number, [number * 1_000, 1, 4]);
      if (method === "end_block") return peer.number === 1 ? undefined : peer.reply(number, 0);
      peer.reply(number, number);
    });
    const client = new seqd.Client({ socket: server.socket, timeout: 60_000, ahead: 4 });
    t.after(() => client.destroy());
    const calls = (method) => server.messages.filter((message) => message[3] === method);
    // One block is used up, and of the next one something is left.
    await until("two blocks", async () => {
      await client.next("a");
      return calls("end_block").length > 0 && calls("block").length > 1;
    });
    const end = begin(server);
    server.peers[0].end();
    const error = await errorOf(client.range("a", 1));
    assert.ok(["PROTOCOL", "CONNECT"].includes(error.code) && !error.temporary, error.code);
    end();
    const number = server.peers.length;
    await until("another connection", () => calls("hello").some(([peer]) => peer > number));
    const first = calls("end_block")[0];
    await until("the end", () => calls("end_block").some(([peer, ...message]) => peer > number && message[3][1] === first[4][1]));
  });
}

test("a lost connection: the block is repeated with its number, and so is its end", async (t) => {
  let ends = 0;
  const { client, calls } = await setUp(t, (peer, [kind, number, method]) => {
    if (kind !== 0) return;
    if (method === "next") return peer.reply(number, 1_000 + number);
    if (method === "block") return peer.number === 1 ? peer.end() : peer.reply(number, [1, 1, 10]);
    if (++ends < 3) return peer.end();
    return peer.error(number, "NO_BLOCK: it was ended before", 1);
  });
  await until("the block", async () => await client.next("a") === 1);
  await client.close();
  const blocks = calls("block");
  assert.ok(blocks.length >= 2 && new Set(blocks.slice(0, 2).map((message) => message[2])).size === 1);
  const [first, ...repeats] = calls("end_block").filter((message) => message[4][1] === blocks[0][2]);
  assert.ok(repeats.length >= 2);
  for (const repeat of repeats) assert.deepEqual(repeat.slice(2), first.slice(2));
});

test("IDs that a number cannot hold", async (t) => {
  const { client } = await setUp(t, (peer, [kind, number, method]) => {
    if (kind !== 0) return;
    peer.reply(number, method === "block" ? [Number.MAX_SAFE_INTEGER - 1, 1, 10] : method === "next" ? 7 : 0);
  });
  const ids = new Set();
  await until("the block", async () => ids.add(await client.next("a", { bigint: true })).has(2n ** 53n - 2n));
  assert.equal(await client.next("a"), Number.MAX_SAFE_INTEGER);
  const error = await errorOf(client.next("a"));
  assert.ok(error instanceof seqd.UnsafeIdError && error.result === 2n ** 53n);
  assert.equal(await client.next("a", { bigint: true }), 2n ** 53n + 1n);
});
