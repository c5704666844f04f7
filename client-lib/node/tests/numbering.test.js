"use strict";
// IDs for many records at once, with the limits of a real daemon and of the client.
const { test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const seqd = require("../lib/index.js");
const { readFields, takeIds } = require("../lib/numbering.js");
const { Daemon } = require("./support/daemon.js");
const { errorOf } = require("./support/waiting.js");

const MAX_COUNT = 150;
let daemon;

before(async () => {
  daemon = await new Daemon({ limits: { max_count: MAX_COUNT }, sequences: { "*": {}, codes: { format: "C-{number:6}" } } }).start();
});
after(() => daemon?.close());

const records = (count) => Array.from({ length: count }, (_, index) => ({ tenant: `t${index % 40}` }));
const upTo = (count) => Array.from({ length: count }, (_, index) => index + 1);

test("more IDs than the daemon gives in one request", async (t) => {
  const client = daemon.client();
  t.after(() => client.close());
  const [field] = readFields({ field: "number", sequence: "orders", client });
  assert.deepEqual(await takeIds(field, records(2_001)), upTo(2_001));
  const [wrong] = readFields({ field: "number", sequence: "n".repeat(129), client });
  assert.equal((await errorOf(takeIds(wrong, records(3)))).code, "TOO_LARGE");
});

test("more texts, and more sequences, than calls that may wait", async (t) => {
  const client = daemon.client({ maxPending: 7 });
  t.after(() => client.close());
  const [texts] = readFields({ field: "code", sequence: "codes", text: true, client });
  const taken = await takeIds(texts, records(500));
  assert.deepEqual(taken.sort(), upTo(500).map((number) => `C-${String(number).padStart(6, "0")}`));
  const [numbers] = readFields({ field: "number", sequence: ({ tenant }) => `tenants.${tenant}`, client });
  assert.deepEqual(await takeIds(numbers, records(80)), records(80).map((_, index) => (index < 40 ? 1 : 2)));
});

test("calls of others that fill the client are an error, after which nothing is taken", async (t) => {
  const client = daemon.client({ maxPending: 1 });
  t.after(() => client.close());
  const other = client.next("other");
  const [texts] = readFields({ field: "code", sequence: "late", text: true, client });
  assert.equal((await errorOf(takeIds(texts, records(50)))).code, "FULL");
  assert.equal(await other, 1);
  assert.equal(await client.next("late"), 1);
});

test("after the first error no further request is begun", async () => {
  let calls = 0;
  const client = { nextText: async () => {
    if (++calls === 1) throw new Error("down");
    return "x";
  } };
  const [field] = readFields({ field: "code", sequence: "codes", text: true, client });
  assert.equal((await errorOf(takeIds(field, records(5_000)))).message, "down");
  const begun = calls;
  assert.ok(begun < 5_000, `${begun} calls`);
  await new Promise((resolve) => { setImmediate(resolve); });
  assert.equal(calls, begun);
});

test("a function that names a sequence of what is not there", async () => {
  for (const name of ["tickets.undefined", "undefined", "null.tickets", "a.NaN.b", "tickets.", ".tickets", "a..b"]) {
    const [field] = readFields({ field: "number", sequence: () => name, client: {} });
    const error = await errorOf(takeIds(field, [{}]));
    assert.equal(error.code, "ARGUMENT", name);
    assert.ok(error.text.includes(`"${name}"`));
  }
  const [field] = readFields({ field: "number", sequence: ({ tenant }) => `tickets.${tenant}`, client: { next: async () => 5 } });
  assert.deepEqual(await takeIds(field, [{ tenant: "nullable" }]), [5]);
});
