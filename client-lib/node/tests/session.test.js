"use strict";
// Section 5 of PROTOCOL.md as the daemon sees it: numbers, hello, acknowledgement, repeats.
const { test } = require("node:test");
const assert = require("node:assert/strict");
const seqd = require("../lib/index.js");
const { startScripted } = require("./support/scripted.js");
const { errorOf, until } = require("./support/waiting.js");

async function setUp(t, script, options) {
  const server = await startScripted((end) => t.after(end), script);
  const client = new seqd.Client({ socket: server.socket, timeout: 60_000, ...options });
  t.after(() => client.destroy());
  return { server, client };
}

/** Says hello and replies to every request with its number. */
function obedient(peer, [kind, number, method, params]) {
  if (method === "hello") peer.hello(peer.number > 1);
  else if (method === "next_text") peer.reply(number, `TEXT-${number}`);
  else if (method === "range") peer.reply(number, [[number, params[1], 1]]);
  else if (method === "peek") peer.reply(number, { next: null, available: 0, last: null });
  else if (kind === 0) peer.reply(number, number);
}

/** What a connection sent, without time-outs: "hello", "next 1", "ack 3". */
function sentOn(server, connection) {
  return server.messages.filter(([one]) => one === connection).map(([, kind, second, third]) => {
    if (kind === 2) return `${second} ${third[0]}`;
    return third === "hello" ? "hello" : `${third} ${second}`;
  });
}

test("hello and its ack come first, with an identity of 16 bytes and the name", async (t) => {
  const { client, server } = await setUp(t, obedient, { name: "shop" });
  assert.equal(await client.next("a"), 1);
  assert.deepEqual(sentOn(server, 1), ["hello", "ack 1", "next 1"]);
  const [options] = server.messages[0][4];
  assert.equal(options.client.length, 16);
  assert.equal(options.name, "shop");
  const other = new seqd.Client({ socket: server.socket });
  await other.next("a");
  await other.close();
  const identities = server.messages.filter((message) => message[3] === "hello").map((message) => Buffer.from(message[4][0].client).toString("hex"));
  assert.equal(new Set(identities).size, 2);
});

test("calls of one turn leave in one write", async (t) => {
  const { client, server } = await setUp(t, obedient);
  await client.next("a");
  const before = server.writes;
  const calls = [client.next("a"), client.range("a", 3), client.nextText("a")];
  await Promise.resolve().then(() => calls.push(client.peek("a")));
  await until("all requests", () => server.messages.length === 7);
  assert.equal(server.writes, before + 1);
  await Promise.all(calls);
});

test("an ack after every 8 replies, with the next request", async (t) => {
  const { client, server } = await setUp(t, obedient);
  for (let count = 0; count < 20; ++count) await client.next("a");
  assert.deepEqual(sentOn(server, 1).filter((one) => one.startsWith("ack")), ["ack 1", "ack 9", "ack 17"]);
  assert.equal(sentOn(server, 1).indexOf("ack 9"), sentOn(server, 1).indexOf("next 9") - 1);
});

test("an ack after a burst of more than 8 that no request follows; none after one of 8", async (t) => {
  const { client, server } = await setUp(t, obedient);
  await Promise.all(Array.from({ length: 9 }, () => client.next("a")));
  await until("the ack", () => server.messages.length === 12);
  assert.equal(sentOn(server, 1).at(-1), "ack 10");
  await Promise.all(Array.from({ length: 8 }, () => client.next("a")));
  await client.close();
  await until("the end", () => server.peers[0].socket.destroyed);
  assert.deepEqual(sentOn(server, 1).slice(-3), ["next 16", "next 17", "ack 18"]); // of close()
});

test("an ack is below the lowest number without a reply, whatever came since", async (t) => {
  let held;
  const { client, server } = await setUp(t, (peer, message) => {
    if (message[1] === 3 && message[2] === "next") held = peer;
    else obedient(peer, message);
  });
  const calls = Array.from({ length: 20 }, () => client.next("a"));
  await Promise.all(calls.filter((_, index) => index !== 2));
  const after = client.next("a");
  assert.equal(await after, 21);
  assert.equal(sentOn(server, 1).filter((one) => one.startsWith("ack")).at(-1), "ack 3");
  held.reply(3, 3);
  assert.equal(await calls[2], 3);
});

test("an ack before the next request after a BUSY", async (t) => {
  const { client, server } = await setUp(t, (peer, message) => {
    if (message[1] === 2) peer.error(2, "BUSY: the table is full");
    else obedient(peer, message);
  });
  await client.next("a");
  const error = await errorOf(client.next("a"));
  assert.deepEqual([error.code, error.temporary], ["BUSY", true]);
  await client.next("a");
  assert.deepEqual(sentOn(server, 1).slice(-2), ["ack 3", "next 3"]);
});

test("a lost connection: the same identity, the old numbers, the lowest first, the time that is left", async (t) => {
  const { client, server } = await setUp(t, (peer, message) => {
    if (message[2] === "hello" || peer.number > 1) return obedient(peer, message);
    if (message[1] === 2) peer.reply(2, "TEXT-2");
    if (message[1] === 5) setTimeout(() => peer.end(), 30);
  });
  const calls = [client.next("a"), client.nextText("b"), client.range("a", 7), client.next("a", { timeout: 30_000 }), client.call("ping")];
  assert.deepEqual(await Promise.all(calls), [1, "TEXT-2", [{ first: 3, count: 7, step: 1 }], 4, 5]);
  assert.deepEqual(sentOn(server, 2).slice(0, 6), ["hello", "ack 1", "next 1", "range 3", "next 4", "ping 5"]);
  const [one, two] = [1, 2].map((peer) => server.messages.filter(([number]) => number === peer));
  assert.deepEqual(one[0][4][0].client, two[0][4][0].client);
  const waits = [one, two].map((messages) => messages.find((message) => message[2] === 4)[4][1].timeout_ms);
  assert.ok(waits[0] <= 27_000 && waits[0] > 0 && waits[1] < waits[0], `${waits}`);
});

test("known is false: what has no reply is sent all the same", async (t) => {
  const { client, server } = await setUp(t, (peer, message) => {
    if (message[2] === "hello") peer.hello(false);
    else if (peer.number > 1) obedient(peer, message);
    else if (message[1] === 12) peer.end();
    else if (message[0] === 0 && message[1] < 11) peer.reply(message[1], message[1]);
  });
  for (let count = 0; count < 10; ++count) await client.next("a");
  assert.deepEqual(await Promise.all([client.next("a"), client.next("a")]), [11, 12]);
  assert.deepEqual(sentOn(server, 2), ["hello", "ack 11", "next 11", "next 12"]);
});

test("STOPPING: what the daemon took is awaited, then the rest goes to the next one under its number", async (t) => {
  const { client, server } = await setUp(t, (peer, message) => {
    if (message[2] === "hello" || peer.number > 1) return obedient(peer, message);
    if (message[1] === 2) peer.error(2, "STOPPING: the daemon is stopping");
    if (message[1] === 3) setTimeout(() => { peer.reply(1, 1); peer.reply(3, 3); }, 20);
  });
  const calls = [client.next("a"), client.next("a"), client.next("a")];
  await until("STOPPING", () => server.messages.some((message) => message[2] === 3));
  await new Promise((resolve) => setTimeout(resolve, 5));
  calls.push(client.next("a"));
  assert.deepEqual(await Promise.all(calls), [1, 2, 3, 4]);
  assert.deepEqual(sentOn(server, 2), ["hello", "ack 2", "next 2", "next 4"]);
});

test("no more than `unacknowledged` numbers beyond the acknowledged one are sent", async (t) => {
  let released = false;
  const { client, server } = await setUp(t, (peer, message) => {
    if (message[2] === "hello") return peer.hello(false, { limits: { unacknowledged: 100, frame: 65_536 } });
    if (message[0] === 2) return undefined;
    if (message[1] === 1 && !released) return undefined;
    return peer.reply(message[1], message[1]);
  });
  const calls = Array.from({ length: 300 }, () => client.next("a"));
  assert.equal(await calls[99], 100);
  assert.ok(!server.messages.some((message) => message[2] > 100));
  released = true;
  server.peers[0].reply(1, 1);
  assert.equal(await calls[299], 300);
});

for (const [name, numbers] of Object.entries({
  "while nothing is in flight": { first: 0xfff00000, renew: 0xfff00002, last: 0xfffffff0 },
  "while calls are waiting": { first: 0xffffffed, renew: 0xffffffee, last: 0xfffffff0 },
})) {
  test(`the numbers end ${name}: a new identity, and they begin with 1`, async (t) => {
    const { client, server } = await setUp(t, obedient, { numbers });
    const ids = [await client.next("a"), ...await Promise.all(Array.from({ length: 10 }, () => client.next("a")))];
    ids.push(await client.next("a"));
    assert.equal(ids[0], numbers.first);
    assert.ok(ids.every((id) => id < numbers.last));
    const hellos = server.messages.filter((message) => message[3] === "hello");
    assert.equal(hellos.length, 2);
    assert.notDeepEqual(hellos[0][4][0].client, hellos[1][4][0].client);
    assert.deepEqual(sentOn(server, 2).slice(0, 3), ["hello", "ack 1", "next 1"]);
    assert.equal(new Set(server.messages.filter((message) => message[1] === 0).map(([peer, , number]) => `${peer} ${number}`)).size, 2 + ids.length);
    // The daemon forgets the replies of the old identity.
    const last = Math.max(...ids);
    assert.equal(sentOn(server, 1).at(-1), `ack ${last + 1}`);
  });
}

test("calls that wait for room when the identity ends are made with the new one", async (t) => {
  const held = [];
  const { client, server } = await setUp(t, (peer, message) => {
    if (message[2] === "hello") return peer.hello(false, { limits: { unacknowledged: 4 } });
    if (message[0] === 2) return undefined;
    held.push(message[1]);
    // All that fit are answered at once, so nothing is in flight while others wait.
    if (held.length < 4) return undefined;
    for (const number of held.splice(0)) peer.reply(number, 100 * peer.number + number);
    return undefined;
  }, { numbers: { first: 1, renew: 4, last: 1_000 } });
  const ids = await Promise.all(Array.from({ length: 12 }, () => client.next("a")));
  assert.equal(new Set(ids).size, 12);
  assert.ok(server.peers.length > 1);
  assert.equal(client.pending, 0);
});

test("an insert is not repeated, one with `unique` is; both say the connection", async (t) => {
  const { client, server } = await setUp(t, (peer, message) => {
    if (message[2] === "hello" || peer.number > 1) return obedient(peer, message);
    if (message[1] === 2) peer.end();
  });
  const plain = errorOf(client.insert("people", { name: "Ada", at: new Date(5), none: undefined, big: 2 ** 40, raw: Buffer.of(1), list: [1n, 2.5] }));
  const unique = client.insert("people", { name: "Bob" }, { unique: "name" });
  const error = await plain;
  assert.ok(error instanceof seqd.OutcomeUnknownError);
  assert.equal(error.temporary, false);
  assert.equal(await unique, 2);
  assert.deepEqual(sentOn(server, 2), ["hello", "ack 2", "insert 2"]);
  const inserts = server.messages.filter((message) => message[3] === "insert").map((message) => message[4]);
  assert.deepEqual(inserts[0][1], { name: "Ada", at: new Date(5), big: 2 ** 40, raw: Buffer.of(1), list: [1, 2.5] });
  assert.equal(inserts[0][2].connection, "c1");
  assert.deepEqual([inserts[2][2].connection, inserts[2][2].unique], ["c2", "name"]);
});

test("an insert that was not sent yet is sent on the next connection, and one whose time is over may have been inserted", async (t) => {
  const { client } = await setUp(t, (peer, message) => {
    if (message[2] === "hello" && peer.number === 1) peer.end();
    else if (message[1] !== 2) obedient(peer, message);
  });
  assert.equal(await client.insert("people", { name: "Ada" }), 1);
  const error = await errorOf(client.insert("people", { name: "Bob" }, { timeout: 30 }));
  assert.ok(error instanceof seqd.OutcomeUnknownError);
  assert.ok(error.cause instanceof seqd.TimeoutError);
});

test("a client without calls does not connect", async (t) => {
  const { client, server } = await setUp(t, obedient);
  await client.next("a");
  server.peers[0].end();
  await until("the end", () => server.peers[0].socket.destroyed);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(server.peers.length, 1);
  assert.equal(await client.next("a"), 2);
  assert.equal(server.peers.length, 2);
});
