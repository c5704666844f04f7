"use strict";
// The plugin with real versions of mongoose, on a real mongod, with a real seqd whose counters are there.
const { describe, test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const seqd = require("../lib/index.js");
const { Daemon } = require("./support/daemon.js");
const { MONGOOSES } = require("./support/mongooses.js");
const { startServers } = require("./support/servers.js");
const { errorOf, until } = require("./support/waiting.js");

let daemon;
let client;
let uri;
let endServers;

before(async () => {
  ({ mongo: uri, end: endServers } = await startServers("mongo"));
  daemon = await new Daemon({
    stores: { central: { type: "mongodb", uri, database: "counters" } },
    sequences: { "*": { create_counter: true }, invoices: { format: "INV-{number:6}" } },
    defaults: { wait_timeout: "30s" },
  }).start();
  client = daemon.client();
});
after(async () => {
  await client?.close();
  await daemon?.close();
  await endServers?.();
});

for (const [version, name] of MONGOOSES) {
  describe(version, () => {
    let mongoose;
    let connection;
    let models = 0;

    before(async () => {
      mongoose = require(name);
      connection = await mongoose.createConnection(uri, { dbName: name }).asPromise();
    });
    after(() => connection?.close());

    /** A model with the plugin; its sequence begins with 1. */
    async function model(options, paths = { tenant: String, number: Number }, prepare = () => {}) {
      const schema = new mongoose.Schema(paths);
      const sequence = `${name}.s${++models}`;
      schema.plugin(seqd.mongoose, { client, ...(options.fields ? {} : { sequence, field: "number" }), ...options });
      prepare(schema);
      const Model = connection.model(`Model${models}`, schema);
      await Model.init();
      return Model;
    }
    const stored = async (Model, field = "number") => (await Model.collection.find().sort({ [field]: 1 }).toArray()).map((one) => one[field]);

    test("save, create, bulkSave", async () => {
      const Model = await model({});
      const first = new Model({ tenant: "x" });
      assert.equal(first.number, undefined);
      await first.save();
      assert.equal(first.number, 1);
      first.tenant = "y";
      await first.save();
      assert.equal(first.number, 1);
      assert.equal((await Model.create({ tenant: "z" })).number, 2);
      const many = await Model.create([{}, {}, {}]);
      assert.equal(many.length, 3);
      await Model.bulkSave([new Model({}), new Model({})]);
      assert.deepEqual(await stored(Model), [1, 2, 3, 4, 5, 6, 7]);
    });

    test("only if empty", async () => {
      const Model = await model({});
      assert.equal((await Model.create({ number: 77 })).number, 77);
      assert.equal((await Model.create({ number: 0 })).number, 0);
      assert.equal((await Model.create({ number: null })).number, 1);
      await Model.insertMany([{ number: 78 }, {}]);
      assert.deepEqual(await stored(Model), [0, 1, 2, 77, 78]);
      const old = await Model.findOne({ number: 77 });
      old.number = undefined;
      await old.save(); // not its first save
      assert.deepEqual(await stored(Model), [undefined, 0, 1, 2, 78]);
    });

    test("a readable text; the field is added to the schema", async () => {
      const Model = await model({ sequence: "invoices", text: true, field: "code" }, { tenant: String });
      const one = await Model.create({ tenant: "x" });
      assert.match(one.code, /^INV-\d{6}$/);
      const [two, three] = await Model.insertMany([{ code: "" }, {}]);
      assert.equal(new Set([one.code, two.code, three.code]).size, 3);
      assert.equal((await client.parse("invoices", two.code)).number, Number(two.code.slice(4)));
    });

    test("several fields, one of them required and one in an object", async () => {
      const Model = await model({
        fields: [{ field: "number", sequence: `${name}.numbers` }, { field: "billing.code", sequence: "invoices", text: true }],
      }, { number: { type: Number, required: true }, billing: { code: String, to: String } });
      const one = await Model.create({ billing: { to: "x" } });
      assert.equal(one.number, 1);
      assert.match(one.billing.code, /^INV-/);
      const shared = { to: "y" };
      const many = await Model.insertMany([{ billing: shared }, { billing: shared }]);
      assert.deepEqual(many.map(({ number }) => number), [2, 3]);
      assert.notEqual(many[0].billing.code, many[1].billing.code);
      assert.deepEqual(shared, { to: "y" });
    });

    test("for each tenant, by a function", async () => {
      const Model = await model({ sequence: async ({ tenant }) => `${name}.tenants.${tenant}` });
      await Model.create({ tenant: "a" });
      await Model.insertMany([{ tenant: "b" }, { tenant: "a" }, new Model({ tenant: "b" }), { tenant: "a" }]);
      const found = await Model.collection.find().toArray();
      for (const [tenant, count] of [["a", 3], ["b", 2]])
        assert.deepEqual(found.filter((one) => one.tenant === tenant).map(({ number }) => number).sort(), [1, 2, 3].slice(0, count));
      const error = await errorOf(Model.create({ tenant: "no name" }));
      assert.equal(error.code, "BAD_REQUEST");
      assert.equal(await Model.countDocuments(), 5);
    });

    test("insertMany: the order, lean, one object, the same object and the same array twice", async () => {
      const Model = await model({});
      const docs = await Model.insertMany(Array.from({ length: 50 }, (_, index) => ({ tenant: String(index) })));
      assert.deepEqual(docs.map(({ number }) => number), Array.from({ length: 50 }, (_, index) => index + 1));
      await Model.insertMany([{ tenant: "lean" }], { lean: true });
      const single = { tenant: "single" };
      await Model.insertMany(single);
      await Model.insertMany(single);
      const template = Object.freeze({ tenant: "template" });
      const array = [template, template];
      await Model.insertMany(array);
      await Model.insertMany(array);
      assert.equal(template.number, undefined);
      const numbers = await stored(Model);
      assert.deepEqual(numbers, Array.from({ length: 57 }, (_, index) => index + 1));
    });

    test("an array that is inserted again: new numbers for each use of the plugin, the caller's own are kept", async () => {
      const Model = await model({}, { tenant: String, number: Number, other: Number },
        (schema) => schema.plugin(seqd.mongoose, { client, field: "other", sequence: `${name}.other` }));
      const array = [{ tenant: "x" }, { tenant: "y" }];
      await Model.insertMany(array);
      await Model.insertMany(array);
      assert.deepEqual([await stored(Model), await stored(Model, "other")], [[1, 2, 3, 4], [1, 2, 3, 4]]);
      array[0].number = 70;
      await Model.insertMany(array);
      assert.deepEqual([await stored(Model), await stored(Model, "other")], [[1, 2, 3, 4, 5, 70], [1, 2, 3, 4, 5, 6]]);
    });

    test("the same objects for two models: each takes of its own sequence, and the caller's stay as they are", async () => {
      const [First, Second] = [await model({}), await model({})];
      const array = [{ tenant: "x" }, { tenant: "y" }];
      const operations = array.map((document) => ({ insertOne: { document } }));
      await Promise.all([First.insertMany(array), Second.insertMany(array), First.insertMany(array)]);
      await First.bulkWrite(operations);
      await Second.bulkWrite(operations);
      assert.deepEqual(array, [{ tenant: "x" }, { tenant: "y" }]);
      assert.deepEqual([await stored(First), await stored(Second)], [[1, 2, 3, 4, 5, 6], [1, 2, 3, 4]]);
    });

    test("upserts: what sets the field takes no ID; the function gets what would be inserted", async () => {
      const Model = await model({ sequence: ({ tenant, kind }) => `${name}.upsert.${tenant}.${kind}` },
        { tenant: String, kind: { type: String, default: "usual" }, number: Number, inner: { one: Number } });
      const upsert = { upsert: true };
      await Model.updateOne({ number: 70 }, { tenant: "x" }, upsert);
      await Model.updateOne({ number: { $eq: 71 } }, { tenant: "x" }, upsert);
      await Model.updateOne({ tenant: "set" }, { $set: { number: 72 } }, upsert);
      await Model.updateOne({ tenant: "set on insert" }, { $setOnInsert: { number: 73 } }, upsert);
      await Model.bulkWrite([{ updateOne: { filter: { $and: [{ number: 74 }] }, update: { tenant: "x" }, upsert: true } }]);
      const update = Object.freeze({ $setOnInsert: Object.freeze({ kind: "rare" }), $set: Object.freeze({ "inner.one": 5 }) });
      for (const tenant of ["a", "b"]) await Model.findOneAndUpdate({ tenant }, update, upsert);
      await Model.bulkWrite([{ updateOne: { filter: { tenant: "a", kind: "usual" }, update: { $set: { "inner.one": 5 } }, upsert: true } }]);
      const found = await Model.collection.find().toArray();
      assert.deepEqual(found.map(({ number }) => number).sort(), [1, 1, 1, 70, 71, 72, 73, 74]);
      assert.deepEqual(await Promise.all(["a.rare", "b.rare", "a.usual"].map(async (one) => (await client.peek(`${name}.upsert.${one}`)).last)), [1, 1, 1]);
      for (const wrong of [{ $set: { number: null } }, { $unset: { number: 1 } }, { number: "" }, { $pull: { number: 3 } }, { $pullAll: { number: [3] } }, { $pop: { number: 1 } }])
        assert.equal((await errorOf(Model.updateOne({ tenant: "wrong" }, wrong, upsert))).code, "ARGUMENT");
      assert.equal(await Model.countDocuments({ tenant: "wrong" }), 0);
    });

    test("an upsert that names an alias which the schema's option translateAliases translates", async () => {
      const schema = new mongoose.Schema({ number: { type: Number, alias: "code" } }, { translateAliases: true });
      schema.plugin(seqd.mongoose, { client, field: "number", sequence: `${name}.s${++models}` });
      const Model = connection.model(`Model${models}`, schema);
      await Model.updateOne({ number: { $gt: 100 } }, { $set: { code: 70 } }, { upsert: true });
      assert.deepEqual(await stored(Model), [70]);
      assert.equal((await errorOf(Model.updateOne({ number: { $gt: 100 } }, { $set: { code: null } }, { upsert: true }))).code, "ARGUMENT");
    });

    test("a clone of an upsert takes IDs of its own, also for two uses of the plugin and after an error", async () => {
      const Model = await model({}, { tenant: { type: String, unique: true }, number: Number, other: Number },
        (schema) => schema.plugin(seqd.mongoose, { client, field: "other", sequence: `${name}.other2` }));
      await Model.create({ tenant: "x" });
      const query = Model.updateOne({ number: { $gt: 100 } }, { $setOnInsert: { tenant: "x" } }, { upsert: true });
      assert.equal((await errorOf(query)).code, 11000);
      const { $setOnInsert } = query.clone().getUpdate();
      assert.deepEqual([$setOnInsert.tenant, $setOnInsert.number, $setOnInsert.other], ["x", undefined, undefined]);
      await Model.collection.updateOne({ tenant: "x" }, { $set: { tenant: "y" } });
      await query.clone();
      assert.deepEqual([await stored(Model), await stored(Model, "other")], [[1, 3], [1, 3]]);
    });

    test("a replacement takes no ID: it may replace a document that has one", async () => {
      const Model = await model({}, { tenant: String, number: { type: Number, required: true } });
      await Model.create({ tenant: "x" });
      const replacement = { tenant: "x" };
      for (const replace of [
        () => Model.bulkWrite([{ replaceOne: { filter: { tenant: "x" }, replacement } }]),
        () => Model.findOneAndReplace({ tenant: "x" }, replacement, { runValidators: true }),
      ]) assert.match((await errorOf(replace())).text, /would remove number/);
      await Model.replaceOne({ tenant: "x" }, { tenant: "y", number: 1 }, { upsert: true });
      assert.deepEqual((await Model.collection.find().toArray()).map(({ tenant, number }) => [tenant, number]), [["y", 1]]);
      assert.equal((await client.peek(`${name}.s${models}`)).last, 1);
    });

    test("a replacement keeps the _id of the document that it replaces", async () => {
      const Model = await model({ field: "_id" }, { _id: Number, tenant: String });
      await Model.create({ tenant: "x" });
      await Model.replaceOne({ tenant: "x" }, { tenant: "y" });
      await Model.bulkWrite([{ replaceOne: { filter: { tenant: "y" }, replacement: { tenant: "z" } } }]);
      assert.deepEqual((await Model.collection.find().toArray()).map(({ _id, tenant }) => [_id, tenant]), [[1, "z"]]);
    });

    test("a replacement by the base model of a kind is refused, too", async () => {
      const Model = connection.model(`Model${++models}`, new mongoose.Schema({ tenant: String }, { discriminatorKey: "kind" }));
      const schema = new mongoose.Schema({ size: Number });
      schema.plugin(seqd.mongoose, { client, field: "number", sequence: `${name}.s${models}` });
      const kind = `Replaced${models}`;
      await Model.discriminator(kind, schema).create({});
      const replace = (replacement) => Model.bulkWrite([{ replaceOne: { filter: { kind }, replacement: { kind, ...replacement } } }]);
      assert.match((await errorOf(replace({ size: 2 }))).text, /would remove number/);
      await replace({ size: 3, number: 1 });
      assert.deepEqual((await Model.collection.find().toArray()).map(({ size, number }) => [size, number]), [[3, 1]]);
      assert.equal((await client.peek(`${name}.s${models}`)).last, 1);
    });

    test("the function gets the document with its defaults, also in insertMany and bulkWrite", async () => {
      const Model = await model({ sequence: (one) => `${name}.defaults.${one.tenant}` }, { tenant: { type: String, default: "x" }, number: Number });
      await Model.create({});
      await Model.insertMany([{}, { tenant: "y" }]);
      await Model.insertMany({});
      await Model.bulkWrite([{ insertOne: { document: {} } }]);
      await Model.insertMany([{ tenant: "x" }], { lean: true });
      const found = await Model.collection.find().toArray();
      assert.deepEqual(found.filter(({ tenant }) => tenant === "x").map(({ number }) => number), [1, 2, 3, 4, 5]);
      assert.deepEqual(found.filter(({ tenant }) => tenant === "y").map(({ number }) => number), [1]);
    });

    test("models with a discriminator take one ID for each document", async () => {
      const Model = await model({}, { number: Number }, (schema) => schema.set("discriminatorKey", "kind"));
      const Kind = Model.discriminator(`Kind${models}`, new mongoose.Schema({ size: Number }));
      await Kind.create({ size: 1 });
      await Kind.insertMany([{ size: 2 }, { size: 3 }]);
      await Model.insertMany([{ kind: `Kind${models}`, size: 4 }]);
      await Kind.bulkWrite([{ insertOne: { document: { size: 5 } } }]);
      await Model.bulkSave([new Kind({}), new Model({})]);
      assert.deepEqual(await stored(Model), [1, 2, 3, 4, 5, 6, 7]);
    });

    test("a plugin on the base schema and another one on that of a kind: each numbers its field", async () => {
      const Model = await model({}, { number: Number }, (schema) => schema.set("discriminatorKey", "kind"));
      const schema = new mongoose.Schema({});
      schema.plugin(seqd.mongoose, { client, field: "other", sequence: `${name}.kinds` });
      const kind = `Both${models}`;
      const Kind = Model.discriminator(kind, schema);
      await Kind.create({});
      await Kind.insertMany([{}, {}]);
      await Model.insertMany([{ kind }]);
      await Kind.bulkWrite([{ insertOne: { document: {} } }]);
      await Model.bulkWrite([{ insertOne: { document: { kind } } }]);
      await Kind.updateOne({ number: { $gt: 100 } }, {}, { upsert: true });
      assert.deepEqual([await stored(Model), await stored(Model, "other")], [[1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]]);
    });

    test("hooks of the schema run once, and errors of mongoose stay as they are", async () => {
      let runs = 0;
      const count = (first) => { ++runs; if (typeof first === "function") first(); };
      const Model = await model({}, { number: Number }, (schema) => {
        schema.pre("insertMany", count);
        schema.post("insertMany", () => { ++runs; });
      });
      assert.equal((await Model.insertMany([{}])).length, 1);
      assert.equal(runs, 2);
      await assert.rejects(Model.insertMany([null, 5]));
      await assert.rejects(Model.bulkWrite([{ unknown: {} }]), { name: "MongooseError" });
      await assert.rejects(Model.bulkWrite([{ insertOne: null }]), /Invalid op/);
      if (version === "mongoose 7") return; // it gives the callback of a static its result
      await assert.rejects(Model.insertMany([{}], () => {}), { name: "MongooseError" });
      await assert.rejects(Model.bulkWrite([], () => {}), { name: "MongooseError" });
    });

    test("bulkWrite: what is inserted gets an ID", async () => {
      const Model = await model({});
      const document = { tenant: "x" };
      await Model.bulkWrite([
        { insertOne: { document } }, { insertOne: { document } }, { insertOne: { document: { number: 50 } } },
        { updateOne: { filter: { number: 50 }, update: { $set: { tenant: "y" } } } },
      ]);
      assert.equal(document.number, undefined);
      assert.deepEqual(await stored(Model), [1, 2, 50]);
    });

    test("transactions: an abort leaves a gap, a retry keeps the number of its document", async () => {
      const Model = await model({});
      await Model.createCollection();
      const document = new Model({ tenant: "kept" });
      let attempts = 0;
      await connection.transaction(async (session) => {
        await document.save({ session });
        await Model.insertMany([{ tenant: "many" }], { session });
        if (++attempts === 1) {
          const error = new mongoose.mongo.MongoServerError({ message: "once more", errorLabels: ["TransientTransactionError"] });
          throw error;
        }
      });
      assert.equal(attempts, 2);
      assert.equal(document.number, 1);
      assert.deepEqual(await stored(Model), [1, 3]);
      await assert.rejects(connection.transaction(async (session) => {
        await Model.create([{ tenant: "aborted" }], { session });
        throw new Error("no");
      }), /no/);
      assert.equal((await Model.create({})).number, 5);
    });

    test("a copy keeps the number of the original, unless it is emptied", async () => {
      const Model = await model({});
      const one = await Model.create({ tenant: "x" });
      for (const number of [one.number, undefined]) {
        one._id = new mongoose.Types.ObjectId();
        one.isNew = true;
        one.number = number;
        await one.save();
      }
      assert.deepEqual(await stored(Model), [1, 1, 2]);
    });

    test("as _id, and as BigInt", async () => {
      const Model = await model({ field: "_id" }, { _id: Number, tenant: String });
      assert.equal((await Model.create({ tenant: "x" }))._id, 1);
      await Model.insertMany([{ tenant: "y" }]);
      await Model.bulkWrite([{ insertOne: { document: { tenant: "z" } } }]);
      assert.deepEqual(await stored(Model, "_id"), [1, 2, 3]);
      const Big = await model({}, { number: BigInt });
      assert.equal((await Big.create({})).number, 1n);
      assert.deepEqual((await Big.insertMany([{}, {}])).map(({ number }) => number), [2n, 3n]);
    });

    test("a single subdocument: also if its number is required, and never over a number that was not selected", async () => {
      const part = new mongoose.Schema({ size: Number, number: { type: Number, required: true } });
      part.plugin(seqd.mongoose, { client, field: "number", sequence: `${name}.s${++models}` });
      const Model = connection.model(`Model${models}`, new mongoose.Schema({ one: part, named: { type: Map, of: part } }));
      await Model.create({ named: { a: {} } });
      const one = await Model.findOne();
      one.one = { size: 1 };
      await one.save();
      const found = () => Model.collection.findOne().then(({ one: { number }, named }) => [named.a.number, number]);
      assert.deepEqual(await found(), [1, 2]);
      const partly = await Model.findOne().select("one.size named.a.size");
      partly.one.size = 2;
      partly.named.get("a").size = 2;
      await partly.save({ validateBeforeSave: false });
      assert.deepEqual(await found(), [1, 2]);
    });

    test("a document that is not valid takes no ID", async () => {
      const Model = await model({}, { number: Number, tenant: { type: String, required: true } });
      assert.equal((await errorOf(Model.create({}))).name, "ValidationError");
      assert.equal((await Model.create({ tenant: "x" })).number, 1);
    });

    test("a failed save leaves a gap that explain names, unless the same document is saved again", async () => {
      const Model = await model({}, { tenant: { type: String, unique: true }, number: Number });
      await Model.create({ tenant: "x" });
      const second = new Model({ tenant: "x" });
      assert.equal((await errorOf(second.save())).code, 11000);
      assert.equal((await client.call("explain", `${name}.s${models}`, 2)).answer, "issued");
      second.tenant = "y";
      await second.save();
      assert.deepEqual(await stored(Model), [1, 2]);
    });

    test("20 programs at once, and the daemon killed meanwhile: each number once", async () => {
      const Model = await model({}, { number: { type: Number, unique: true } });
      let created = 0;
      const creating = Promise.all(Array.from({ length: 20 }, async () => {
        for (let count = 0; count < 20; ++count, ++created) await Model.create({});
      }));
      await until("some are created", () => created >= 20);
      await daemon.kill();
      assert.ok(created < 400);
      daemon.spawn();
      await creating;
      assert.deepEqual(await stored(Model), Array.from({ length: 400 }, (_, index) => index + 1));
    });
  });
}
