"use strict";
// Servers that do what no daemon does.
const { test } = require("node:test");
const assert = require("node:assert/strict");
const net = require("node:net");
const { mkdtempSync, rmSync } = require("node:fs");
const { once } = require("node:events");
const { encode } = require("@msgpack/msgpack");
const seqd = require("../lib/index.js");
const { startScripted } = require("./support/scripted.js");
const { errorOf, until } = require("./support/waiting.js");

/** A server that says hello as it should, and a client of it. */
async function setUp(t, script, options) {
  const server = await startScripted((end) => t.after(end), (peer, message) => {
    if (message[2] === "hello") peer.hello();
    else script(peer, message);
  });
  const client = new seqd.Client({ socket: server.socket, timeout: 60_000, ...options });
  t.after(() => client.destroy());
  return { server, client };
}

test("replies in pieces, in any order, many at once", async (t) => {
  const kept = [];
  const { client } = await setUp(t, (peer, [kind, number]) => {
    if (kind !== 0) return;
    kept.unshift(Buffer.from(encode([1, number, null, number * 1_000])));
    if (kept.length < 3) return;
    // Each byte a packet of its own, or some with the next one.
    const bytes = Buffer.concat(kept);
    const step = (at) => {
      if (at >= bytes.length) return;
      peer.raw(bytes.subarray(at, at + 1));
      setImmediate(step, at + 1);
    };
    step(0);
  });
  assert.deepEqual(await Promise.all([client.next("a"), client.next("a"), client.next("a")]), [1_000, 2_000, 3_000]);
});

test("half a reply, then the end: the request is repeated", async (t) => {
  const { client, server } = await setUp(t, (peer, [kind, number]) => {
    if (kind !== 0) return;
    const reply = Buffer.from(encode([1, number, null, 70_000]));
    if (peer.number === 3) return peer.raw(reply);
    peer.raw(reply.subarray(0, peer.number + 3));
    setImmediate(() => peer.end());
  });
  assert.equal(await client.next("a"), 70_000);
  const sent = server.messages.filter((message) => message[3] === "next");
  assert.deepEqual(sent.map(([connection, , number]) => [connection, number]), [[1, 1], [2, 1], [3, 1]]);
});

const NEVER = {
  "garbage": (peer) => peer.raw(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")),
  "the byte 0xc1": (peer) => peer.raw(Buffer.of(0xc1)),
  "a reply without a request": (peer) => peer.reply(4711, 1),
  "a reply to number 0": (peer) => peer.error(0, "BAD_REQUEST: a message is an array", 1),
  "a reply twice": (peer, number) => { peer.reply(number, 1); peer.reply(number, 1); },
  "a request": (peer) => peer.send([0, 1, "next", ["a"]]),
  "an array of five": (peer, number) => peer.send([1, number, null, 1, 2]),
  "a negative number": (peer) => peer.send([1, -1, null, 1]),
  "an error and a result": (peer, number) => peer.send([1, number, [0, "BUSY: x"], 1]),
  "an error of another form": (peer, number) => peer.send([1, number, "BUSY", null]),
  "a text instead of an ID": (peer, number) => peer.reply(number, "1"),
  "a fraction instead of an ID": (peer, number) => peer.reply(number, 1.5),
  "nil instead of an ID": (peer, number) => peer.reply(number, null),
  "a reply above 16 MiB": (peer) => peer.raw(Buffer.from("940101c0c601000000", "hex")),
  "a reply of 33 levels": (peer) => peer.raw(Buffer.from(`940101c0${"91".repeat(33)}`, "hex")),
  "a key __proto__": (peer, number) => peer.raw(Buffer.concat([Buffer.from([0x94, 1, number, 0xc0, 0x81]), Buffer.from(encode("__proto__")), Buffer.of(0x80)])),
};
for (const [name, send] of Object.entries(NEVER)) {
  test(`${name}: every call that waits fails, and the next one starts afresh`, async (t) => {
    const { client, server } = await setUp(t, (peer, [kind, number, method]) => {
      if (kind !== 0) return;
      if (peer.number > 1) peer.reply(number, 5);
      else if (method === "next") send(peer, number);
    });
    const first = client.next("a");
    const second = errorOf(client.call("status"));
    if (name === "a reply twice") assert.equal(await first, 1);
    else assert.ok((await errorOf(first)) instanceof seqd.ProtocolError);
    const error = await second;
    assert.ok(error instanceof seqd.ProtocolError);
    assert.equal(error.temporary, false);
    assert.equal(await client.next("a"), 5);
    assert.equal(server.peers.length, 2);
  });
}

for (const [name, runs] of Object.entries({
  "too few": [[1, 4, 1]], "too many": [[1, 6, 1]], "a negative count": [[1, -5, 1], [1, 10, 1]], "two integers": [[1, 5]], "no array": 5, "none": [],
  "the same ID five times": [[1, 5, 0]],
})) {
  test(`runs with ${name} are refused`, async (t) => {
    const { client } = await setUp(t, (peer, [kind, number]) => { if (kind === 0) peer.reply(number, runs); });
    assert.ok((await errorOf(client.range("a", 5))) instanceof seqd.ProtocolError);
  });
}

test("silence after the hello: a time-out, and a late reply is dropped", async (t) => {
  const late = [];
  const { client, server } = await setUp(t, (peer, [kind, number, method]) => {
    if (kind !== 0) return;
    if (method === "ping") return peer.reply(number, "pong");
    late.push(number);
    if (late.length < 3) return;
    for (const one of late.splice(0)) peer.reply(one, one * 10);
  });
  await client.call("ping"); // how long it takes to connect is not what is tested
  const errors = await Promise.all([client.next("a", { timeout: 30 }), client.next("a", { timeout: 40 })].map(errorOf));
  for (const error of errors) {
    assert.ok(error instanceof seqd.TimeoutError);
    assert.equal(error.temporary, true);
  }
  assert.equal(await client.next("a"), 40);
  assert.equal(server.peers.length, 1);
});

test("silence instead of a hello is not waited for longer than some time", async (t) => {
  const server = await startScripted((end) => t.after(end), (peer, [kind, number, method]) => {
    if (peer.number === 1) return;
    if (method === "hello") peer.hello();
    else if (kind === 0) peer.reply(number, 5);
  });
  const client = new seqd.Client({ socket: server.socket, timeout: 60_000, helloTimeout: 30 });
  t.after(() => client.destroy());
  assert.equal(await client.next("a"), 5);
  assert.ok(server.peers.length > 1);
});

test("silence instead of a hello", async (t) => {
  const server = await startScripted((end) => t.after(end), () => {});
  const client = new seqd.Client({ socket: server.socket, timeout: 30 });
  t.after(() => client.destroy());
  const first = await errorOf(client.next("a"));
  assert.ok(first instanceof seqd.ConnectError);
  await until("the hello", () => server.messages.length > 0);
  const error = await errorOf(client.next("a"));
  assert.ok(error instanceof seqd.ConnectError);
  assert.match(error.text, /does not reply/);
  assert.deepEqual(server.messages.map((message) => message[3]), ["hello"]);
});

const BAD_HELLOS = {
  "version 2": (peer) => peer.hello(false, { protocol: 2 }),
  "no map": (peer) => peer.reply(0, "hello"),
  "an error": (peer) => peer.error(0, "DENIED: go away", 1),
  "another number": (peer) => peer.reply(1, 1),
};
for (const [name, send] of Object.entries(BAD_HELLOS)) {
  test(`a hello with ${name} is an error at once`, async (t) => {
    const server = await startScripted((end) => t.after(end), (peer) => send(peer));
    const client = new seqd.Client({ socket: server.socket, timeout: 60_000 });
    t.after(() => client.destroy());
    const error = await errorOf(client.next("a"));
    assert.equal(error.code, name === "an error" ? "DENIED" : "PROTOCOL");
    assert.equal(server.peers.length, 1);
  });
}

test("a hello that is BUSY is tried again", async (t) => {
  const server = await startScripted((end) => t.after(end), (peer, [, number, method]) => {
    if (method === "hello") return peer.number < 4 ? peer.error(0, "BUSY: too many") : peer.hello();
    if (method === "next") peer.reply(number, 9);
  });
  const client = new seqd.Client({ socket: server.socket, timeout: 60_000 });
  t.after(() => client.destroy());
  assert.equal(await client.next("a"), 9);
  assert.equal(server.peers.length, 4);
});

test("notifications of later daemons are ignored", async (t) => {
  const { client } = await setUp(t, (peer, [kind, number]) => {
    if (kind !== 0) return;
    peer.send([2, "news", ["x"]], [1, number, null, 3]);
  });
  assert.equal(await client.next("a"), 3);
});

test("a server that does not read: at most maxPending calls, and they end in time", async (t) => {
  const server = await startScripted((end) => t.after(end), () => {}, (peer) => {
    peer.hello();
    peer.socket.pause();
  });
  const client = new seqd.Client({ socket: server.socket, timeout: 100, maxPending: 20_000 });
  t.after(() => client.destroy());
  const codes = await Promise.all(Array.from({ length: 20_001 }, () => client.call("parse", "x".repeat(100), "y").catch((error) => error.code)));
  assert.equal(codes.at(-1), "FULL");
  assert.ok(codes.slice(0, -1).every((code) => code === "TIMEOUT" || code === "CONNECT"));
  assert.equal(client.pending, 0);
});

test("close() does not wait for a server that does not end, destroy() not for one that does not read", { timeout: 30_000 }, async (t) => {
  const replies = [[1, 0, null, { protocol: 1 }], [1, 1, null, 7]].map((one) => Buffer.from(encode(one)));
  const sockets = [];
  const listener = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    // Two replies, as if nothing else could come; then it neither reads nor ends.
    socket.once("data", () => {
      socket.write(replies[0]);
      socket.once("data", () => {
        socket.pause();
        socket.write(replies[1]);
      });
    });
  });
  const folder = mkdtempSync("/tmp/seqd-node-");
  listener.listen(`${folder}/s`);
  await once(listener, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
    rmSync(folder, { recursive: true });
  });
  const client = new seqd.Client({ socket: `${folder}/s`, timeout: 60_000 });
  assert.equal(await client.next("a"), 7);
  await client.close();
  const other = new seqd.Client({ socket: `${folder}/s`, timeout: 60_000 });
  assert.equal(await other.next("a"), 7);
  const calls = Array.from({ length: 50 }, () => errorOf(other.call("x", "y".repeat(60_000))));
  await new Promise(setImmediate);
  await other.destroy();
  for (const call of calls) assert.equal((await call).code, "CLOSED");
});
