"use strict";
// insert, on a real mongod.
const { test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const { mongo } = require("mongoose");
const seqd = require("../lib/index.js");
const { Daemon } = require("./support/daemon.js");
const { startServers } = require("./support/servers.js");
const { errorOf, until } = require("./support/waiting.js");

let servers;
let daemon;
let client;
let store;
let people;

before(async () => {
  servers = await startServers("mongo");
  store = await new mongo.MongoClient(servers.mongo).connect();
  people = store.db("shop").collection("people");
  await people.createIndex({ name: 1 }, { unique: true });
  daemon = await new Daemon({
    stores: { central: { type: "mongodb", uri: servers.mongo, database: "shop" } },
    sequences: { people: { mode: "insert", collection: "people" }, orders: {} },
  }).start();
  client = daemon.client();
});
after(async () => {
  await client?.close();
  await daemon?.close();
  await store?.close();
  await servers?.end();
});

test("values keep their meaning", async () => {
  const document = {
    name: "Ada", born: new Date("1815-12-10T00:00:00Z"), key: Buffer.from([1, 2, 3]), score: 2.5, small: 7, large: 2 ** 40, negative: -(2 ** 40),
    huge: 2n ** 62n, list: [1, "two", null], nested: { yes: true }, none: undefined,
  };
  assert.equal(await client.insert("people", document), 1);
  const stored = await people.findOne({ _id: 1 }, { promoteBuffers: true });
  const given = { ...document };
  delete given.none;
  assert.deepEqual({ ...stored, key: [...stored.key], huge: 0 }, { _id: 1, ...given, key: [1, 2, 3], huge: 0 });
  assert.equal("none" in stored, false);
  assert.equal((await people.findOne({ _id: 1 }, { useBigInt64: true })).huge, 2n ** 62n);
});

test("many at once, BigInt, and what is refused", async () => {
  const ids = await Promise.all(Array.from({ length: 50 }, (_, index) => client.insert("people", { name: `n${index}` })));
  assert.deepEqual(ids.sort((one, two) => one - two), Array.from({ length: 50 }, (_, index) => index + 2));
  assert.equal(await client.insert("people", { name: "Bob" }, { bigint: true }), 52n);
  const error = await errorOf(client.insert("people", { name: "Bob" }));
  assert.ok(error instanceof seqd.RequestError);
  assert.equal(error.code, "DOCUMENT_REFUSED");
  assert.equal(await client.insert("people", { name: "Bob" }, { unique: "name" }), 52);
  assert.equal((await errorOf(client.insert("orders", { name: "x" }))).code, "WRONG_MODE");
  assert.equal((await errorOf(client.next("people"))).code, "WRONG_MODE");
});

test("with `unique`, a kill of the daemon is not seen", async () => {
  const names = Array.from({ length: 60 }, (_, index) => `k${index}`);
  let done = 0;
  const inserting = Promise.all(Array.from({ length: 6 }, async (_, chain) => {
    const inserted = [];
    for (const name of names.slice(chain * 10, chain * 10 + 10)) {
      inserted.push([name, await client.insert("people", { name }, { unique: "name" })]);
      ++done;
    }
    return inserted;
  }));
  await until("some are inserted", () => done >= 6);
  await daemon.kill();
  assert.ok(done < names.length);
  daemon.spawn();
  for (const [name, id] of (await inserting).flat()) assert.equal((await people.findOne({ name }))._id, id);
  assert.equal(await people.countDocuments({ name: /^k/ }), names.length);
});
