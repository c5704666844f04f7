"use strict";
// The plugin with a register: the _id of a document is the key of its number. Real versions of mongoose, a real
// mongod and a real seqd.
const { describe, test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const seqd = require("../lib/index.js");
const { Daemon } = require("./support/daemon.js");
const { MONGOOSES } = require("./support/mongooses.js");
const { startServers } = require("./support/servers.js");
const { errorOf } = require("./support/waiting.js");

let daemon;
let client;
let uri;
let endServers;

before(async () => {
  ({ mongo: uri, end: endServers } = await startServers("mongo"));
  daemon = await new Daemon({ sequences: { "invoices*": {}, ...registers() }, defaults: { wait_timeout: "30s" } }).start();
  client = daemon.client();
});
after(async () => {
  await client?.close();
  await daemon?.close();
  await endServers?.();
});

/** One for each test: a register has no pattern. */
function registers() {
  const names = MONGOOSES.flatMap(([, name]) => Array.from({ length: 20 }, (_, at) => `${name}.r${at + 1}`));
  return Object.fromEntries(names.map((name) => [name, { mode: "register", format: "INV-{number:4}" }]));
}

for (const [version, name] of MONGOOSES) {
  describe(version, () => {
    let mongoose;
    let connection;
    let models = 0;

    before(async () => {
      mongoose = require(name);
      connection = await mongoose.createConnection(uri, { dbName: `register_${name}` }).asPromise();
    });
    after(() => connection?.close());

    async function model(paths = {}, options = {}) {
      const schema = new mongoose.Schema({ tenant: String, number: Number, ...paths });
      schema.plugin(seqd.mongoose, { client, sequence: `${name}.r${++models}`, field: "number", register: true, ...options });
      const Model = connection.model(`Register${models}`, schema);
      await Model.createCollection();
      return Model;
    }
    const stored = async (Model) => (await Model.collection.find().sort({ number: 1 }).toArray()).map((one) => one.number);
    const keys = async () => {
      const found = [];
      for await (const record of client.records(`${name}.r${models}`)) found.push(record.key);
      return found;
    };

    test("documents: save, create, bulkSave, insertMany", async () => {
      const Model = await model();
      const first = new Model({});
      await first.save();
      assert.equal(first.number, 1);
      await Model.create([{}, {}]);
      await Model.bulkSave([new Model({}), new Model({})]);
      await Model.insertMany([new Model({}), new Model({})]);
      assert.equal((await Model.create({ number: 77 })).number, 77);
      assert.deepEqual(await stored(Model), [1, 2, 3, 4, 5, 6, 7, 77]);
      const ids = (await Model.collection.find({ number: { $lt: 70 } }).sort({ number: 1 }).toArray()).map(({ _id }) => String(_id));
      assert.deepEqual(await keys(), ids);
    });

    test("a transaction that is aborted and tried again keeps its numbers", async () => {
      const Model = await model();
      const documents = [new Model({ tenant: "a" }), new Model({ tenant: "b" })];
      const plain = { _id: new mongoose.Types.ObjectId(), tenant: "c" };
      await assert.rejects(connection.transaction(async (session) => {
        await documents[0].save({ session });
        throw new Error("no");
      }), /no/);
      let attempts = 0;
      await connection.transaction(async (session) => {
        for (const document of documents) await document.save({ session });
        await Model.insertMany([plain], { session });
        if (++attempts === 1) throw new mongoose.mongo.MongoServerError({ message: "once more", errorLabels: ["TransientTransactionError"] });
      });
      assert.equal(attempts, 2);
      assert.deepEqual(await stored(Model), [1, 2, 3]);
      const other = new Model({ _id: documents[0]._id });
      await errorOf(other.save());
      assert.equal(other.number, 1);
    });

    test("plain objects need an _id of their own", async () => {
      const Model = await model();
      const lacks = (promise) => assert.rejects(promise, (error) => error instanceof seqd.ArgumentError && /belongs to the _id/.test(error.text));
      await lacks(Model.insertMany([{}]));
      await lacks(Model.insertMany([{}], { lean: true }));
      await lacks(Model.bulkWrite([{ insertOne: { document: {} } }]));
      await lacks(Model.bulkWrite([{ insertOne: { document: {} } }], { skipValidation: true }));
      assert.deepEqual(await keys(), []);
      const ids = Array.from({ length: 4 }, () => new mongoose.Types.ObjectId());
      await Model.insertMany([{ _id: ids[0] }, { _id: String(ids[1]).toUpperCase() }]);
      await Model.insertMany([{ _id: ids[2] }], { lean: true });
      await Model.bulkWrite([{ insertOne: { document: { _id: ids[3] } } }]);
      assert.deepEqual(new Set(await keys()), new Set(ids.map(String)));
      assert.deepEqual(await stored(Model), [1, 2, 3, 4]);
    });

    test("upserts are refused, unless they have the number", async () => {
      const Model = await model();
      const _id = new mongoose.Types.ObjectId();
      const upsert = { upsert: true };
      const operation = { filter: { _id }, update: { $set: { tenant: "x" } }, upsert: true };
      const upserts = [
        () => Model.updateOne({ _id }, { tenant: "x" }, upsert), () => Model.updateMany({ _id }, { tenant: "x" }, upsert),
        () => Model.findOneAndUpdate({ _id }, { tenant: "x" }, upsert), () => Model.findByIdAndUpdate(_id, { tenant: "x" }, upsert),
        () => Model.bulkWrite([{ updateOne: operation }]), () => Model.bulkWrite([{ updateMany: operation }]),
      ];
      for (const one of upserts) await assert.rejects(one(), (error) => error instanceof seqd.ArgumentError && /may insert nothing/.test(error.text));
      await assert.rejects(Model.replaceOne({ _id }, { tenant: "x" }, upsert), (error) => error instanceof seqd.ArgumentError);
      assert.deepEqual(await keys(), []);
      assert.equal(await Model.countDocuments(), 0);
      await Model.updateOne({ _id }, { $set: { number: 5 } }, upsert);
      await Model.updateOne({ _id }, { $set: { tenant: "x" } });
      assert.deepEqual(await stored(Model), [5]);
    });

    test("texts, other keys, a required field, parts", async () => {
      const Text = await model({ _id: String, code: { type: String, required: true } }, { field: "code", text: true });
      assert.equal((await Text.create({ _id: "a key" })).code, "INV-0001");
      const Numbered = await model({ _id: Number });
      assert.ok(await errorOf(Numbered.create({ _id: 7 })) instanceof seqd.ArgumentError);
      const Part = new mongoose.Schema({ number: Number });
      Part.plugin(seqd.mongoose, { client, sequence: `${name}.r${++models}`, field: "number", register: true });
      const Whole = connection.model(`Whole${models}`, new mongoose.Schema({ parts: [Part] }));
      const whole = await Whole.create({ parts: [{}, {}] });
      assert.deepEqual(new Set(whole.parts.map(({ number }) => number)), new Set([1, 2]));
      assert.deepEqual(new Set(await keys()), new Set(whole.parts.map(({ _id }) => String(_id))));
    });

    test("what cannot be a number of a register", () => {
      const use = (paths, options) => () => new mongoose.Schema(paths).plugin(seqd.mongoose, { client, sequence: "x", register: true, ...options });
      assert.throws(use({ _id: Number }, { field: "_id" }), seqd.ArgumentError);
      assert.throws(() => seqd.dynamodb.plugin({ table: "t", field: "number", sequence: "x", register: true }), seqd.ArgumentError);
    });
  });
}
