"use strict";
// Registers: one key has one number, whatever happens in between.
const { describe, test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const { mongo } = require("mongoose");
const seqd = require("../lib/index.js");
const { readPage, readRecord } = require("../lib/register.js");
const { Daemon, startDaemon } = require("./support/daemon.js");
const { startScripted } = require("./support/scripted.js");
const { errorOf, until } = require("./support/waiting.js");

const SEQUENCES = {
  invoices: { mode: "register", period: "year", format: "INV-{date:%Y}-{number:5}" }, slips: { mode: "register", refill: "always" },
};
const YEAR = new Date().getUTCFullYear();
const STAMP = { at_ms: 1796044675364, by: "host:0:7" };
const RECORD = { number: 1, text: "1", period: null, state: "assigned", key: "a", assigned: STAMP, confirmed: null, former: [] };

async function all(records) {
  const found = [];
  for await (const record of records) found.push(record);
  return found;
}

describe("a real daemon", () => {
  let daemon;
  let client;
  before(async () => {
    daemon = await new Daemon({ sequences: SEQUENCES }).start();
    client = daemon.client();
  });
  after(async () => {
    await client?.close();
    await daemon?.close();
  });

  test("a key has one number, also for another client and after a kill", async () => {
    const key = new mongo.ObjectId();
    const record = await client.assign("invoices", key);
    assert.deepEqual({ ...record, assigned: 0 }, {
      number: 1, text: `INV-${YEAR}-00001`, period: String(YEAR), state: "assigned", key: key.toHexString(), assigned: 0, confirmed: null, former: [],
    });
    assert.ok(Math.abs(Date.now() - record.assigned.at) < 300_000 && record.assigned.by.split(":").length === 3);
    for (const one of [key.toHexString(), key.id, new Uint8Array(key.id)]) assert.deepEqual(await client.assign("invoices", one), record);
    const uuid = new mongo.UUID();
    assert.equal((await client.assign("invoices", uuid)).number, 2);
    assert.equal((await client.assign("invoices", uuid.toHexString())).number, 2);
    const other = daemon.client();
    assert.deepEqual(await other.assign("invoices", key), record);
    assert.equal((await other.assign("invoices", "third", { bigint: true })).number, 3n);
    await daemon.kill();
    const asking = client.assign("invoices", key);
    await daemon.start();
    assert.deepEqual(await asking, record);
    assert.equal((await other.assign("invoices", "fourth")).number, 4);
    await other.close();
  });

  test("confirm and cancel", async () => {
    assert.equal((await client.assign("slips", "a")).text, "1");
    const confirmed = await client.confirm("slips", "a");
    assert.ok(confirmed.state === "confirmed" && confirmed.confirmed.at instanceof Date);
    assert.deepEqual(await client.confirm("slips", "a", { number: 1 }), confirmed);
    const refused = await errorOf(client.cancel("slips", "a", "a mistake", { number: 1 }));
    assert.ok(refused instanceof seqd.RequestError);
    assert.equal(refused.code, "KEY_CONFIRMED");
    const { number } = await client.assign("slips", "b");
    const free = await client.cancel("slips", "b", "the customer left", { number });
    assert.deepEqual([free.state, free.key, free.former[0].key, free.former[0].reason], ["free", null, "b", "the customer left"]);
    assert.deepEqual(await client.cancel("slips", "b", "again", { number }), free);
    assert.equal((await client.assign("slips", "c")).number, number);
    assert.equal((await client.cancel("slips", "c", "without its number")).number, number);
    assert.equal((await errorOf(client.cancel("slips", "c", "without its number"))).code, "NO_KEY");
    assert.equal((await errorOf(client.confirm("slips", "d"))).code, "NO_KEY");
  });

  test("periods", async () => {
    const last = `invoices@${YEAR - 1}`;
    assert.equal((await client.assign(last, "old")).text, `INV-${YEAR - 1}-00001`);
    assert.equal((await client.assign("invoices", "old")).period, String(YEAR - 1));
    assert.equal(await client.call("close", last), 1);
    assert.equal((await errorOf(client.assign(last, "late"))).code, "SEQ_PERIOD_CLOSED");
    assert.equal((await errorOf(client.assign(`invoices@${YEAR + 2}`, "early"))).code, "BAD_REQUEST");
    assert.equal((await errorOf(client.next("invoices"))).code, "WRONG_MODE");
  });

  test("records come in pages", async (t) => {
    const many = (await startDaemon((end) => t.after(end), { sequences: SEQUENCES })).client();
    t.after(() => many.close());
    await Promise.all(Array.from({ length: 230 }, (_, at) => many.assign("invoices", `key ${at}`)));
    await many.cancel("invoices", (await all(many.records("invoices")))[7].key, "a test", { number: 8 });
    assert.deepEqual((await all(many.records(`invoices@${YEAR}`))).map(({ number }) => number), Array.from({ length: 230 }, (_, at) => at + 1));
    assert.deepEqual((await all(many.records("invoices", { state: "void", bigint: true }))).map(({ number }) => number), [8n]);
    assert.deepEqual(await all(many.records("slips")), []);
  });

  test("what no daemon accepts is not sent", async () => {
    const key = "a";
    const refused = async (promise) => assert.ok(await errorOf(promise) instanceof seqd.ArgumentError);
    for (const wrong of ["", "a\nb", "x".repeat(257), "\ud800", 7, null, undefined, {}, Buffer.alloc(5), { id: "text" }]) await refused(client.assign("slips", wrong));
    for (const reason of ["", undefined, "a\tb"]) await refused(client.cancel("slips", key, reason));
    for (const number of [0, -1, 1.5, "1", 2n ** 63n]) await refused(client.confirm("slips", key, { number }));
    await refused(client.assign("slips", key, { number: 1 }));
    await refused(client.call("cancel", "slips", key, "why"));
    await refused(all(client.records("slips", { state: "lost" })));
    await refused(all(client.records(7)));
  });
});

describe("a connection that is lost", () => {
  async function setUp(t, script) {
    const server = await startScripted((end) => t.after(end), script);
    const client = new seqd.Client({ socket: server.socket, timeout: 60_000 });
    t.after(() => client.destroy());
    return { server, client, requests: () => server.messages.filter(([, kind, , method]) => kind === 0 && method !== "hello") };
  }

  test("assign, confirm and a cancel with its number are repeated", async (t) => {
    const cut = new Set();
    const { client, requests } = await setUp(t, (peer, [kind, number, method]) => {
      if (method === "hello") peer.hello();
      else if (kind === 0 && !cut.has(method)) peer.end(cut.add(method));
      else if (kind === 0) peer.reply(number, RECORD);
    });
    for (const call of [() => client.assign("slips", "a"), () => client.confirm("slips", "a"), () => client.cancel("slips", "a", "why", { number: 1 })]) {
      assert.equal((await call()).number, 1);
      const [first, second] = requests().slice(-2);
      assert.deepEqual([second[2], second[3], second[4].slice(0, -1)], [first[2], first[3], first[4].slice(0, -1)]);
    }
    assert.equal(requests().filter(([, , , method]) => method === "cancel")[0][4][3].number, 1);
  });

  for (const how of ["cut", "STOPPING", "abort"]) {
    test(`a cancel without its number is sent once: ${how}`, async (t) => {
      const abort = new AbortController();
      const { client, requests } = await setUp(t, (peer, [kind, number, method]) => {
        if (method === "hello") peer.hello();
        else if (method === "ping") peer.reply(number, "pong");
        else if (kind === 0 && how === "cut") peer.end();
        else if (kind === 0 && how === "STOPPING") peer.error(number, "STOPPING: the daemon stops");
        else if (kind === 0) abort.abort();
      });
      const error = await errorOf(client.cancel("slips", "a", "why", { signal: abort.signal }));
      assert.ok(error instanceof seqd.OutcomeUnknownError);
      assert.match(error.text, /may have been cancelled/);
      await client.call("ping");
      assert.equal(requests().filter(([, , , method]) => method === "cancel").length, 1);
    });
  }

  test("one that was not sent waits for the next daemon", async (t) => {
    const { client, server } = await setUp(t, (peer, [kind, number, method]) => {
      if (method === "hello" && peer.number === 1) peer.end();
      else if (method === "hello") peer.hello();
      else if (kind === 0) peer.reply(number, { ...RECORD, state: "void", key: null });
    });
    assert.equal((await client.cancel("slips", "a", "why")).state, "void");
    await until("two connections", () => server.peers.length === 2);
  });
});

test("a record that no daemon gives is refused", () => {
  assert.equal(readRecord(RECORD, false, "a").number, 1);
  for (const change of [{ number: 0 }, { number: "1" }, { text: "" }, { text: null }, { state: 1 }, { key: "b" }, { key: null }, { period: 2026 },
    { assigned: null }, { assigned: { at_ms: -1, by: "x" } }, { assigned: { at_ms: 2n ** 62n, by: "x" } }, { assigned: { at_ms: 1, by: 7 } },
    { confirmed: 1 }, { former: {} }, { former: [1] }])
    assert.throws(() => readRecord({ ...RECORD, ...change }, false, "a"), seqd.ProtocolError);
  assert.throws(() => readRecord([RECORD], false), seqd.ProtocolError);
  for (const page of [null, { after: null }, { records: {}, after: null }, { records: [1], after: null }, { records: [], after: 7 }, { records: [], after: "8" }])
    assert.throws(() => readPage(page, false, 7), seqd.ProtocolError);
});
