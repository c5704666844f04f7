"use strict";
// The methods, on a real daemon.
const { test, before, after, describe } = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const net = require("node:net");
const path = require("node:path");
const seqd = require("../lib/index.js");
const { Daemon } = require("./support/daemon.js");
const { errorOf, until } = require("./support/waiting.js");

let daemon;
let client;

before(async () => {
  daemon = new Daemon({
    sequences: {
      orders: {},
      invoices: { format: "INV-{date:%y%m%d}-{number:6}{check:luhn}" },
      higher: { start: 2n ** 53n - 1n, max: 2n ** 63n - 1n },
      down: { start: 10, increment: -3, min: -5, max: 10 },
      few: { start: 1, increment: 1, max: 3 },
    },
  });
  await daemon.start();
  client = daemon.client({ name: "tests of the client" });
});
after(async () => {
  await client?.close();
  await daemon?.close();
});

describe("IDs", () => {
  test("next, range, nextMany", async () => {
    assert.equal(await client.next("a"), 1);
    assert.deepEqual(await client.range("a", 5), [{ first: 2, count: 5, step: 1 }]);
    assert.deepEqual(await client.nextMany("a", 3), [7, 8, 9]);
    assert.deepEqual(await client.nextMany("down", 4), [10, 7, 4, 1]);
    assert.deepEqual(await client.range("down", 2), [{ first: -2, count: 2, step: -3 }]);
  });

  test("BigInt on demand", async () => {
    assert.equal(await client.next("b", { bigint: true }), 1n);
    assert.deepEqual(await client.range("b", 2, { bigint: true }), [{ first: 2n, count: 2, step: 1n }]);
    const bigs = client.with({ bigint: true });
    assert.deepEqual(await bigs.nextMany("b", 2), [4n, 5n]);
    assert.equal(await bigs.next("b", { bigint: false }), 6);
    const { available, ...ids } = await bigs.peek("b");
    assert.deepEqual(ids, { next: 7n, last: 6n });
    assert.equal(typeof available, "number"); // how many: the next lease may come at any moment
  });

  test("an ID that a number cannot hold is an error that has it", async () => {
    assert.equal(await client.next("higher"), Number.MAX_SAFE_INTEGER);
    const error = await errorOf(client.next("higher"));
    assert.ok(error instanceof seqd.UnsafeIdError);
    assert.match(error.message, /bigint: true/);
    assert.equal(error.result, 2n ** 53n);
    assert.equal(await client.next("higher", { bigint: true }), 2n ** 53n + 1n);
    const runs = await errorOf(client.nextMany("higher", 2));
    assert.deepEqual(runs.result, [{ first: 2n ** 53n + 2n, count: 2, step: 1n }]);
    assert.deepEqual(await client.nextMany("higher", 2, { bigint: true }), [2n ** 53n + 4n, 2n ** 53n + 5n]);
    assert.equal((await client.call("peek", "higher")).last, 2n ** 53n + 5n);
    assert.ok((await errorOf(client.peek("higher"))) instanceof seqd.UnsafeIdError);
  });

  test("texts", async () => {
    const text = await client.nextText("invoices");
    assert.match(text, /^INV-\d{6}-000001\d$/);
    const parsed = await client.parse("invoices", text);
    assert.equal(parsed.number, 1);
    assert.equal(parsed.check, "luhn");
    assert.match(parsed.period, /^\d{4}-\d\d-\d\d$/);
    assert.equal(typeof parsed.date.year, "number");
    assert.equal((await client.parse("invoices", text, { bigint: true })).number, 1n);
    const error = await errorOf(client.parse("invoices", "INV"));
    assert.ok(error instanceof seqd.RequestError);
    assert.equal(error.code, "BAD_TEXT");
  });

  test("the last ID", async () => {
    assert.deepEqual(await client.nextMany("few", 3), [1, 2, 3]);
    const error = await errorOf(client.next("few"));
    assert.ok(error instanceof seqd.DaemonError);
    assert.equal(error.code, "EXHAUSTED");
    assert.equal(error.temporary, false);
    assert.match(error.message, /^EXHAUSTED: /);
    assert.equal(error.name, "DaemonError");
  });
});

describe("looking", () => {
  test("the type of status has all that the daemon tells", async () => {
    const before = await client.status();
    await client.next("drained");
    assert.equal((await errorOf(client.parse("invoices", "no text of it"))).code, "BAD_TEXT");
    await client.call("drain", "drained");
    let status;
    await until("the rate of a sequence is known", async () => {
      await client.next("drained");
      status = await client.status();
      return status.runway_ms !== null;
    });
    assert.ok(status.leases >= before.leases + 2 && status.gaps > before.gaps && status.errors > before.errors, JSON.stringify(status));
    assert.equal(typeof status.runway_ms, "number");
    assert.equal(typeof status.runway_sequence, "string");
    const types = fs.readFileSync(path.join(__dirname, "../types/index.d.ts"), "utf8");
    const [, body] = types.match(/export interface Status \{\n(.*?)\n\}\n/s);
    const known = [...body.matchAll(/^ {2}(\w+):/gm)].map(([, key]) => key);
    assert.deepEqual(Object.keys(status).sort(), known.sort());
  });

  test("peek, status, and any method", async () => {
    assert.deepEqual(await client.peek("unused"), { next: null, available: 0, last: null });
    const status = await client.status();
    assert.equal(status.pid, daemon.process.pid);
    assert.equal(await client.call("ping"), "pong");
    await client.next("c");
    const listed = await client.call("list", { limit: 1_000 });
    assert.ok(listed.some(({ name }) => name === "c"));
    assert.equal((await client.call("explain", "c", 1)).answer, "issued");
    assert.equal((await client.with({ timeout: 60_000 }).call("audit", "c")).good, true);
    const error = await errorOf(client.call("destroy"));
    assert.equal(error.code, "NO_METHOD");
  });

  test("next by name is numbered and issues one ID", async () => {
    assert.equal(await client.call("next", "d"), 1);
    assert.equal(await client.call("next", "d", { timeout_ms: 50 }), 2);
  });
});

describe("arguments", () => {
  test("wrong ones are refused before anything is sent", async () => {
    const wrong = [
      () => client.next(7), () => client.next("a", { patience: 1 }), () => client.next("a", { timeout: 0 }), () => client.next("a", null),
      () => client.next("a", { signal: {} }), () => client.next("a", { signal: null }), () => client.range("a", 0), () => client.range("a", 1.5), () => client.nextMany("a", 2 ** 40),
      () => client.parse("a", 7), () => client.call(7), () => client.call("hello", {}), () => client.call("ack", 3), () => client.call("insert", "a", {}),
      () => client.call("list", { after: () => {} }), () => client.call("list", 2n ** 64n), () => client.insert("a", []),
      () => client.insert("a", { at: new Date(NaN) }), () => client.insert("a", { one: new Map() }), () => client.insert("a", {}, { unique: 1 }),
    ];
    for (const one of wrong) assert.equal((await errorOf(one())).code, "ARGUMENT", one.toString());
    for (const options of [{ socket: "/" + "x".repeat(107) }, { socket: 3 }, { name: "x".repeat(65) }, { timeout: -1 }, { maxPending: 0 }])
      assert.throws(() => new seqd.Client(options), { code: "ARGUMENT" });
    const circle = {};
    circle.itself = circle;
    assert.equal((await errorOf(client.insert("a", circle))).code, "ARGUMENT");
  });

  test("what the daemon refuses leaves the others alone", async () => {
    const [first, error, second] = await Promise.allSettled([client.next("e"), client.next("not a name"), client.next("e")]);
    assert.deepEqual([first.value, second.value], [1, 2]);
    assert.equal(error.reason.code, "BAD_REQUEST");
    assert.equal((await errorOf(client.next("x".repeat(600)))).code, "TOO_LARGE");
    assert.equal((await errorOf(client.call("list", { after: "x".repeat(70_000) }))).code, "TOO_LARGE");
    assert.equal(await client.next("e"), 3);
  });

  test("a document or parameter that is nested too deep is refused before it ends the connection of the others", async () => {
    const nested = (levels) => (levels === 0 ? 1 : [nested(levels - 1)]);
    const { requests } = await client.status();
    const errors = await Promise.all([client.call("list", nested(7)), client.insert("e", { a: nested(6) }), client.insert("e", { a: nested(5) })].map(errorOf));
    assert.deepEqual(errors.map(({ code }) => code), ["BAD_REQUEST", "BAD_REQUEST", "WRONG_MODE"]);
    assert.equal((await client.status()).requests, requests + 2); // the last insert and this
  });
});

describe("the socket", () => {
  test("is that of SEQD_SOCKET, unless it is named", async () => {
    process.env.SEQD_SOCKET = daemon.socket;
    try {
      const other = new seqd.Client();
      assert.equal(await other.next("f"), 1);
      await other.close();
      process.env.SEQD_SOCKET = "/nonexistent/seqd.sock";
      assert.equal(await client.next("f"), 2);
      const error = await errorOf(new seqd.Client({ timeout: 500 }).next("f")); // enough for one attempt
      assert.ok(error instanceof seqd.ConnectError);
      assert.equal(error.temporary, true);
      assert.match(error.message, /nonexistent\/seqd.sock: .*ENOENT/);
    } finally {
      delete process.env.SEQD_SOCKET;
    }
    const error = await errorOf(new seqd.Client({ timeout: 20 }).next("f"));
    assert.match(error.message, / \/run\/seqd.sock: /);
  });

  test("one that can never be connected to is an error at once", async () => {
    const error = await errorOf(new seqd.Client({ socket: `${daemon.folder}/seqd.toml/x`, timeout: 60_000 }).next("f"));
    assert.equal(error.code, "CONNECT");
    assert.equal(error.temporary, false);
  });
});

describe("an end", () => {
  test("close() waits for what is in flight and takes no more", async () => {
    const other = daemon.client();
    const ids = Promise.all(Array.from({ length: 100 }, () => other.next("g")));
    const closed = other.close();
    assert.equal((await errorOf(other.next("g"))).code, "CLOSED");
    assert.equal((await ids).at(-1), 100);
    await closed;
    assert.equal(other.close(), closed);
    await daemon.client().close();
  });

  test("destroy() rejects what is in flight", async () => {
    const other = daemon.client();
    const error = errorOf(other.next("g"));
    await other.destroy();
    assert.ok((await error) instanceof seqd.ClosedError);
    assert.equal(other.pending, 0);
  });

  test("destroy() of an idle client, and after close(), ends when the socket is closed", async (t) => {
    const connect = t.mock.method(net, "connect"); // the real one, whose sockets are seen
    for (const end of [(other) => other.destroy(), (other) => { other.close(); return other.destroy(); }]) {
      const other = daemon.client();
      await other.next("l");
      await end(other);
      assert.equal(connect.mock.calls.at(-1).result.closed, true);
    }
  });

  test("await using", { skip: Symbol.asyncDispose === undefined && "this Node has no Symbol.asyncDispose" }, async () => {
    const other = daemon.client();
    assert.equal(await other.next("h"), 1);
    await other[Symbol.asyncDispose]();
    assert.equal((await errorOf(other.next("h"))).code, "CLOSED");
  });
});

describe("abort", () => {
  test("before it is sent: no ID is taken", async () => {
    const abort = new AbortController();
    const calls = [errorOf(client.next("i", { signal: abort.signal })), errorOf(client.next("i", { signal: abort.signal }))];
    const kept = client.next("i");
    abort.abort(new Error("enough"));
    for (const call of calls) assert.equal((await call).message, "enough");
    assert.equal(await kept, 1);
    assert.equal((await errorOf(client.next("i", { signal: abort.signal }))).message, "enough");
    assert.equal((await errorOf(client.next("i", { signal: AbortSignal.abort() }))).name, "AbortError");
    assert.equal(await client.next("i"), 2);
  });

  test("after it is sent: the reply is dropped and all goes on", async () => {
    const abort = new AbortController();
    const call = errorOf(client.next("j", { signal: abort.signal }));
    await new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));
    abort.abort();
    assert.equal((await call).name, "AbortError");
    assert.equal(await client.next("j"), 2);
  });

  test("one signal for many calls causes no warning", async () => {
    const warnings = [];
    const listen = (warning) => warnings.push(warning);
    process.on("warning", listen);
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 50 }, () => client.next("k", { signal })));
    await new Promise(setImmediate);
    process.off("warning", listen);
    assert.deepEqual(warnings, []);
  });
});
