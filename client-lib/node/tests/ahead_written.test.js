"use strict";
// The option `ahead` with servers that do what a test says: what is written, and when.
const { test } = require("node:test");
const assert = require("node:assert/strict");
const { startScripted } = require("./support/scripted.js");
const { errorOf, until } = require("./support/waiting.js");
const seqd = require("../lib/index.js");

/** A daemon with one counter for all sequences: `next` and `range` take from it, `list` shows the name. What `script`
 * answers (true) is left out; so is a range while `own.keeps`. */
async function setUp(t, { script = () => false, ...options } = {}) {
  const own = { id: 0, keeps: false };
  const server = await startScripted((end) => t.after(end), (peer, message) => {
    const [kind, number, method, params] = message;
    if (method === "hello") return peer.hello();
    if (kind !== 0 || script(peer, message, own)) return;
    if (method === "list") peer.reply(number, [{ name: params[0] }]);
    if (method === "next") peer.reply(number, ++own.id);
    if (method === "range" && !own.keeps) peer.reply(number, [[take(own, params[1]), params[1], 1]]);
  });
  own.client = new seqd.Client({ socket: server.socket, timeout: 60_000, ahead: 10, ...options });
  t.after(() => own.client.destroy());
  own.server = server;
  own.calls = (method) => server.messages.filter((message) => message[3] === method);
  own.next = (count, name = "a") => Promise.all(Array.from({ length: count }, () => own.client.next(name)));
  /** Takes IDs until a range is here. */
  own.begin = async (name = "a") => {
    await until("a range", async () => {
      await own.client.next(name);
      return own.calls("range").some((message) => message[4][0] === name);
    });
    await own.client.next(name);
  };
  return own;
}

function take(own, count) {
  own.id += count;
  return own.id - count + 1;
}

test("a range is as large as what is missing and what calls wait for", async (t) => {
  const own = await setUp(t);
  assert.deepEqual(await own.next(1), [1]);
  assert.deepEqual([own.calls("list").length, own.calls("range").length], [0, 0]);
  assert.deepEqual(await own.next(1), [2]);
  await until("the look", () => own.calls("list").length === 1);
  assert.deepEqual(await own.next(3), [3, 4, 5]);
  assert.deepEqual(own.calls("range").map((message) => message[4]), [["a", 13, { at_most: true }]]);
  // Ten are here; the next range is fetched when half of them are used.
  assert.deepEqual(await own.next(4), [6, 7, 8, 9]);
  assert.equal(own.calls("range").length, 1);
  assert.deepEqual(await own.next(1), [10]);
  await until("the next range", () => own.calls("range").length === 2);
  assert.equal(own.calls("range")[1][4][1], 5);
  assert.deepEqual([own.calls("list").length, own.calls("next").length], [1, 2]);
});

test("calls that find nothing wait for the range, in their order", async (t) => {
  const own = await setUp(t);
  await own.begin();
  own.keeps = true;
  const ids = [];
  const calls = Array.from({ length: 30 }, async () => ids.push(await own.client.next("a")));
  await until("the range", () => own.calls("range").length === 2);
  const late = own.client.next("a");
  const aborted = new AbortController();
  const given = own.client.next("a", { signal: aborted.signal });
  aborted.abort(new Error("over"));
  assert.equal((await errorOf(given)).message, "over");
  assert.equal((await errorOf(own.client.next("a", { timeout: 20 }))).code, "TIMEOUT");
  assert.ok(own.client.pending > 20);
  const [connection, , number, , [, count]] = own.calls("range")[1];
  assert.equal(connection, 1);
  own.keeps = false;
  own.server.peers[0].reply(number, [[take(own, count), count, 1]]);
  await Promise.all(calls);
  assert.ok(await late > ids.at(-1));
  assert.deepEqual(ids, [...ids].sort((one, two) => one - two));
  assert.equal(own.client.pending, 0);
});

const BAD_RANGES = { "a number": 5, "nil": null, "no runs": [], "too many IDs": [[1, 14, 1]], "two numbers": [[1, 1]], "step 0": [[1, 13, 0]], "a fraction": [[0.5, 13, 1]], "a text": "1" };
for (const [name, reply] of Object.entries(BAD_RANGES)) {
  test(`${name} instead of a range is an error, and nothing is taken of it`, async (t) => {
    const own = await setUp(t, { script: (peer, [, number, method]) => method === "range" && (peer.reply(number, reply), true) });
    await own.next(1);
    await own.next(1);
    await until("the look", () => own.calls("list").length === 1);
    assert.equal((await errorOf(own.client.next("a"))).code, "PROTOCOL");
    assert.deepEqual(await own.next(2), [3, 4]);
    assert.equal(own.calls("range").length, 1);
  });
}

for (const [text, fault, code] of [["UNAVAILABLE: not now", 0, "UNAVAILABLE"], ["WRONG_MODE: it inserts", 1, "WRONG_MODE"], ["DENIED: not you", 1, "DENIED"]]) {
  test(`${code} for a range: the calls that wait for it become requests`, async (t) => {
    const own = await setUp(t, { script: (peer, [, number, method]) => method === "range" && (peer.error(number, text, fault), true) });
    await own.next(1);
    await own.next(1);
    await until("the look", () => own.calls("list").length === 1);
    const now = performance.now();
    const clock = t.mock.method(performance, "now", () => now);
    assert.deepEqual(await own.next(5), [3, 4, 5, 6, 7]);
    assert.deepEqual(await own.next(5), [8, 9, 10, 11, 12]);
    assert.equal(own.calls("range").length, 1); // it is not asked for again at once
    clock.mock.restore();
    if (code === "UNAVAILABLE") await until("another try", async () => await own.next(1) && own.calls("range").length > 1);
  });
}

test("what a range is refused with is not the error of a call", async (t) => {
  const own = await setUp(t, { script: (peer, [, number, method]) => ["range", "next"].includes(method) && own.isOver && (peer.error(number, method === "next" ? "EXHAUSTED: over" : "TOO_LARGE: many", 0), true) });
  await own.begin();
  own.isOver = true;
  const codes = await Promise.all(Array.from({ length: 12 }, () => own.client.next("a").catch((error) => error.code)));
  assert.deepEqual([...new Set(codes.filter((one) => typeof one === "string"))], ["EXHAUSTED"]);
});

for (const [what, reply] of Object.entries({ "a sequence with periods": [{ name: "a@2026-11-22" }], "a sequence that is not in use": [null] })) {
  test(`${what}: no range`, async (t) => {
    const own = await setUp(t, { script: (peer, [, number, method]) => method === "list" && (peer.reply(number, reply), true) });
    for (let id = 1; id <= 20; ++id) assert.deepEqual(await own.next(1), [id]);
    assert.deepEqual([own.calls("list").length, own.calls("range").length], [1, 0]);
  });
}

test("a range of fewer IDs: the calls that get none become requests", async (t) => {
  const own = await setUp(t, { script: (peer, [, number, method]) => method === "range" && (peer.reply(number, [[take(own, 2), 2, 1]]), true) });
  await own.next(1);
  await own.next(1);
  await until("the look", () => own.calls("list").length === 1);
  assert.deepEqual(await own.next(5), [3, 4, 5, 6, 7]);
  assert.equal(own.calls("next").length, 2 + 3);
});

test("a look that fails for a while: what was fetched before is used after the next one", async (t) => {
  const own = await setUp(t, { script: (peer, [, number, method]) => {
    if (method === "range" && peer.number === 1) peer.end();
    else if (method === "list" && peer.number === 2 && own.calls("list").length === 2) peer.error(number, "BUSY: many", 0);
    else return false;
    return true;
  } });
  await own.next(1);
  await own.next(1);
  await until("the look", () => own.calls("list").length === 1);
  assert.deepEqual(await own.next(3), [16, 17, 18]); // 3 .. 15 wait for the next look
  await until("the next look", async () => (await own.next(1), own.calls("list").length === 3));
  await until("what was fetched", async () => (await own.next(1))[0] === 3);
  assert.deepEqual(await own.next(3), [4, 5, 6]);
});

test("a list that is refused: each ID is a request", async (t) => {
  const own = await setUp(t, { script: (peer, [, number, method]) => method === "list" && (peer.error(number, "BUSY: many", 0), true) });
  for (let id = 1; id <= 20; ++id) assert.deepEqual(await own.next(1), [id]);
  assert.equal(own.calls("range").length, 0);
});

test("a lost connection: the range is repeated with its number, and calls wait for it", async (t) => {
  const own = await setUp(t, { script: (peer, [, , method]) => method === "range" && peer.number === 1 && (peer.end(), true) });
  await own.next(1);
  await own.next(1);
  await until("the look", () => own.calls("list").length === 1);
  assert.deepEqual(await own.next(3), [3, 4, 5]);
  const [first, repeat] = own.calls("range");
  assert.deepEqual(repeat.slice(1), first.slice(1));
  // The other daemon may have another configuration.
  assert.deepEqual(own.calls("list").map(([connection]) => connection), [1, 2]);
});

test("a sequence that got periods while its range was fetched: what comes is not used", async (t) => {
  const own = await setUp(t, { script: (peer, [, number, method]) => {
    if (method === "range" && peer.number === 1) peer.end();
    else if (method === "list" && peer.number === 2) peer.reply(number, [{ name: "a@2026-11-22" }]);
    else return false;
    return true;
  } });
  await own.next(1);
  await own.next(1);
  await until("the look", () => own.calls("list").length === 1);
  assert.deepEqual(await own.next(3), [16, 17, 18]); // 3 .. 15 are of a period
  assert.deepEqual(await own.next(1), [19]);
});

test("close() and destroy() wait for no range", async (t) => {
  for (const end of ["close", "destroy"]) {
    const own = await setUp(t);
    await own.begin();
    own.keeps = true;
    await own.next(6);
    await until("the range", () => own.calls("range").length === 2);
    assert.equal(own.client.pending, 0);
    await own.client[end]();
  }
});

test("more sequences than a client fetches for", async (t) => {
  const own = await setUp(t);
  const names = Array.from({ length: 1_100 }, (_, index) => `t.${index}`);
  for (let round = 0; round < 6; ++round) await Promise.all(names.map((name) => own.client.next(name)));
  const fetched = new Set(own.calls("range").map((message) => message[4][0]));
  assert.ok(fetched.size > 900 && fetched.size <= 1_100, String(fetched.size));
});
