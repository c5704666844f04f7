"use strict";
// Inserts that may have been carried out: whatever keeps the reply away, the error is one that no program
// retries on.
const { test } = require("node:test");
const assert = require("node:assert/strict");
const seqd = require("../lib/index.js");
const { startScripted } = require("./support/scripted.js");
const { errorOf } = require("./support/waiting.js");

/** A client, and a server that calls `received` for its first insert. */
async function setUp(t, received, { hello = {}, ...options } = {}) {
  const server = await startScripted((end) => t.after(end), (peer, [, number, method]) => {
    if (method === "hello") peer.hello(true, peer.number === 1 ? {} : hello);
    else if (method === "insert" && peer.number === 1) received(peer, number);
  });
  const client = new seqd.Client({ socket: server.socket, timeout: 60_000, ...options });
  t.after(() => client.destroy());
  return client;
}

function assertUnknown(error) {
  assert.ok(error instanceof seqd.OutcomeUnknownError, `${error}`);
  assert.deepEqual([error.code, error.temporary, error.name], ["OUTCOME_UNKNOWN", false, "OutcomeUnknownError"]);
  for (const Other of [seqd.ConnectError, seqd.TimeoutError, seqd.ClosedError, seqd.ProtocolError, seqd.RequestError, DOMException])
    assert.ok(!(error instanceof Other), Other.name);
}

const ENDS = {
  "the connection is lost": (peer) => peer.end(),
  "garbage is replied": (peer) => peer.raw(Buffer.of(0xc1)),
  "a text is replied": (peer, number) => peer.reply(number, "x"),
  "the time is over": () => {},
  "the call is aborted": (peer, number, abort) => abort.abort(),
  "the signal's time is over": (peer, number, abort) => abort.abort(new DOMException("the time is over", "TimeoutError")),
  "the signal's reason is a symbol": (peer, number, abort) => abort.abort(Symbol("over")),
  "the signal's reason has no text": (peer, number, abort) => abort.abort(Object.create(null)),
  "the client is destroyed": (peer, number, abort, client) => client.destroy(),
};
for (const [name, end] of Object.entries(ENDS)) {
  test(`an insert of which it is not known whether it was carried out: ${name}`, async (t) => {
    const abort = new AbortController();
    const client = await setUp(t, (peer, number) => end(peer, number, abort, client), name === "the time is over" ? { timeout: 10_000 } : {});
    assertUnknown(await errorOf(client.insert("people", { name: "Ada" }, { signal: abort.signal })));
  });
}

test("a call that was not sent is aborted with the reason of its signal, also an insert", async (t) => {
  const client = await setUp(t, () => {});
  const abort = new AbortController();
  const insert = errorOf(client.insert("people", { name: "Ada" }, { signal: abort.signal }));
  const next = errorOf(client.next("orders", { signal: abort.signal }));
  abort.abort(); // before the hello was answered
  assert.deepEqual([await insert, await next], [abort.signal.reason, abort.signal.reason]);
});

test("a repeat that the next daemon's limits refuse was sent to the one before", async (t) => {
  const client = await setUp(t, (peer) => peer.end(), { hello: { limits: { frame: 20 } } });
  assertUnknown(await errorOf(client.insert("people", { name: "Ada Lovelace" }, { unique: "name" })));
});
