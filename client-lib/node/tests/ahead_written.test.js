"use strict";
// The option `ahead` with servers that do what a test says: what is written, and when.
const { test } = require("node:test");
const assert = require("node:assert/strict");
const { renameSync, rmSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const seqd = require("../lib/index.js");
const { startScripted } = require("./support/scripted.js");
const { errorOf, until } = require("./support/waiting.js");

async function setUp(t, script, options) {
  const server = await startScripted((end) => t.after(end), (peer, message) => {
    if (message[2] === "hello") peer.hello();
    else script(peer, message);
  });
  const client = new seqd.Client({ socket: server.socket, timeout: 60_000, ahead: 10, ...options });
  t.after(() => client.destroy());
  return { server, client, calls: (method) => server.messages.filter((message) => message[3] === method) };
}

test("a program that takes one ID fetches no others", async (t) => {
  const { client, calls } = await setUp(t, (peer, [kind, number, method]) => {
    if (kind === 0) peer.reply(number, method === "block" ? [1, 1, 10] : 100 + number);
  });
  for (const name of ["a", "b", "c"]) await client.next(name);
  assert.deepEqual(calls("block"), []);
  await until("the block", async () => await client.next("a") === 1);
  assert.deepEqual(calls("block").map((message) => message[4][0]), ["a"]);
});

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

test("sequences without blocks leave the places for blocks to the others", async (t) => {
  const { client, calls } = await setUp(t, (peer, [kind, number, method, params]) => {
    if (kind !== 0) return;
    if (method === "block" && params[0] !== "a") return peer.error(number, "WRONG_MODE: it has no blocks", 1);
    peer.reply(number, method === "block" ? [1_000_000, 1, 10] : method === "next" ? number : 0);
  });
  const others = Array.from({ length: 40 }, (_, index) => `other.${index}`);
  await until("the block", async () => {
    for (const name of others) assert.ok(await client.next(name) < 1_000_000);
    return await client.next("a") >= 1_000_000;
  });
  for (const name of others) assert.ok(calls("block").filter((message) => message[4][0] === name).length <= 1, name);
});

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

test("destroy() sends no call that was not sent yet", async (t) => {
  let id = 0;
  const { client, calls } = await setUp(t, (peer, [kind, number, method]) => {
    if (kind === 0 && method === "next") peer.reply(number, ++id);
  });
  await client.next("a");
  await client.next("a");
  await until("the request", () => calls("block").length > 0);
  const late = errorOf(client.next("late"));
  await client.destroy();
  assert.equal((await late).code, "CLOSED");
  await until("the end", () => calls("end_block").length > 0);
  assert.equal(calls("next").length, 2);
});

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

test("a process that stood still takes nothing from blocks that are too old", async (t) => {
  const { client, calls } = await setUp(t, (peer, [kind, number, method]) => {
    if (kind === 0) peer.reply(number, method === "block" ? [1_000_000, 1, 10] : method === "next" ? number : 0);
  }, { keep: 100 });
  await until("the block", async () => await client.next("a") >= 1_000_000);
  const ended = calls("end_block").length;
  for (const end = performance.now() + 150; performance.now() < end;); // no timer in between
  assert.ok(await client.next("a") < 1_000_000);
  await until("its end", () => calls("end_block").length > ended);
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
