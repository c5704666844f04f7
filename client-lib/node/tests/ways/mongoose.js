"use strict";
// One function for each row of mongoose.json: it writes new documents into the collection of `Model`. Rows
// are told apart by what is stored: see mongoose_ways.test.js.
const assert = require("node:assert/strict");

/** A kind whose schema, or whose base's, has the plugin. */
const kinds = (where) => ({
  paths: { tenant: String, ...(where === "base" ? { number: Number } : {}) }, isPlain: where !== "base",
  prepare: (schema) => schema.set("discriminatorKey", "kind"),
  finish: ({ Model, Schema, use }) => {
    const schema = new Schema({ size: Number });
    if (where === "kind") use(schema);
    return { Kind: Model.discriminator(`${Model.modelName}Kind`, schema), kind: `${Model.modelName}Kind` };
  },
});
const parts = {
  isPlain: true,
  prepare: (schema, { Schema, use }) => {
    const part = new Schema({ size: Number });
    use(part);
    schema.add({ parts: [part] });
  },
};
/** Parts that are alone at their path. */
const singles = {
  isPlain: true,
  prepare: (schema, { Schema, use }) => {
    const part = new Schema({ size: Number });
    use(part);
    schema.add({ one: part, named: { type: Map, of: part }, list: [new Schema({ one: part })], outer: new Schema({ one: part }) });
  },
};
const setSingles = (document, value) => {
  document.one = value;
  document.named.set("a", value);
  document.list[0].one = value;
};
const singlesOf = (document) => [document.one, document.named.get("a"), document.list[0].one];
const upsert = { upsert: true };
const withoutHooks = { middleware: { pre: false } };
const upsertOne = { filter: { tenant: "x" }, update: { $set: { size: 1 } }, upsert: true };
const insertOne = { insertOne: { document: { tenant: "x" } } };
const two = [{ tenant: "x" }, { tenant: "y" }];

module.exports = {
  "save": { run: ({ Model }) => new Model({}).save() },
  "create": { run: ({ Model }) => Model.create([{}, {}]) },
  "insertOne": { exists: ({ Model }) => Model.insertOne !== undefined, run: ({ Model }) => Model.insertOne({}) },
  "save-without-validation": { run: ({ Model }) => new Model({}).save({ validateBeforeSave: false }) },
  "bulkSave": { run: ({ Model }) => Model.bulkSave([new Model({}), new Model({})]) },
  "insertMany": { run: ({ Model }) => Model.insertMany(two) },
  "insertMany-unordered": { run: ({ Model }) => Model.insertMany(two, { ordered: false }) },
  "insertMany-lean": { run: ({ Model }) => Model.insertMany(two, { lean: true }) },
  "insertMany-raw": { run: ({ Model }) => Model.insertMany(two, { rawResult: true }) },
  "insertMany-one": { run: ({ Model }) => Model.insertMany({ tenant: "x" }) },
  "insertMany-again": { run: async ({ Model }) => { await Model.insertMany(two); await Model.insertMany(two); assert.equal(two[0].number, undefined); } },
  "bulkWrite-insertOne": { run: ({ Model }) => Model.bulkWrite([insertOne, insertOne]) },
  "bulkWrite-without-validation": { run: ({ Model }) => Model.bulkWrite([insertOne], { skipValidation: true }) },
  "absent": { run: async ({ Model }) => {
    for (const list of [[null], [undefined, {}], null, undefined]) await Model.insertMany(list);
    await Model.insertMany([null, {}], { ordered: false });
    await Model.bulkWrite([{ insertOne: {} }, { insertOne: { document: null } }, { insertOne: { document: undefined } }]);
    await Model.bulkWrite([{ insertOne: {} }], { skipValidation: true });
    await Model.create(null);
    await Model.create([null, {}]);
  } },
  "bulkWrite-updateOne": { run: ({ Model }) => Model.bulkWrite([{ updateOne: upsertOne }, { updateOne: upsertOne }]) },
  "bulkWrite-updateMany": { run: ({ Model }) => Model.bulkWrite([{ updateMany: upsertOne }]) },
  "bulkWrite-replaceOne": { run: ({ Model }) => Model.bulkWrite([{ replaceOne: { filter: { tenant: "x" }, replacement: { tenant: "x" }, ...upsert } }]) },
  "updateOne": { run: async ({ Model }) => {
    await Model.updateOne({ tenant: "x" }, { size: 1 }, upsert);
    const { number } = await Model.findOne({ tenant: "x" });
    await Model.updateOne({ tenant: "x" }, { size: 2 }, upsert);
    assert.deepEqual((await Model.find({ tenant: "x" })).map((one) => [one.number, one.size]), [[number, 2]]);
  } },
  "updateMany": { run: ({ Model }) => Model.updateMany({ tenant: "x" }, { $set: { size: 1 } }, upsert) },
  "findOneAndUpdate": { run: async ({ Model }) => {
    const found = await Model.findOneAndUpdate({ tenant: "x" }, { $inc: { size: 1 } }, { new: true, ...upsert });
    assert.equal(typeof found.number, "number");
    assert.equal((await Model.findOneAndUpdate({ tenant: "x" }, { $inc: { size: 1 } }, { new: true, ...upsert })).number, found.number);
  } },
  "findByIdAndUpdate": { run: ({ Model, mongoose }) => Model.findByIdAndUpdate(new mongoose.Types.ObjectId(), { size: 1 }, { new: true, ...upsert }) },
  "findOneAndUpdate-overwrite": { exists: ({ mongoose }) => mongoose.version.startsWith("7."), run: ({ Model }) => Model.findOneAndUpdate({ tenant: "x" }, { size: 1 }, { overwrite: true, ...upsert }) },
  "update-validators": { run: ({ Model }) => Model.updateOne({ tenant: "x" }, { size: 1 }, { runValidators: true, ...upsert }), paths: { tenant: String, size: Number, number: { type: Number, required: true } } },
  "update-whole": { run: ({ Model }) => Model.updateOne({ tenant: "x" }, { $set: { inner: { other: 1 } } }, upsert), field: "inner.number",
    paths: { tenant: String, inner: { number: Number, other: Number } } },
  "update-whole-inserted": { run: ({ Model }) => Model.updateOne({ tenant: "x" }, { $setOnInsert: { inner: { other: 1 } } }, upsert), field: "inner.number",
    paths: { tenant: String, inner: { number: Number, other: Number } } },
  "update-pipeline": { run: ({ Model }) => Model.updateOne({ tenant: "x" }, [{ $set: { size: 1 } }], { updatePipeline: true, ...upsert }) },
  "query-clone": { run: async ({ Model }) => {
    const query = Model.updateOne({ tenant: "x" }, { size: 1 }, upsert);
    await query;
    await Model.collection.updateMany({}, { $set: { tenant: "y" } });
    await query.clone();
  } },
  "query-clone-meanwhile": { run: async ({ Model }) => {
    const query = Model.updateOne({ tenant: "x" }, { size: 1 }, upsert);
    const first = query.exec();
    const copies = [];
    let isThere = false;
    const done = first.then(() => { isThere = true; });
    while (!isThere) {
      copies.push(query.clone(), new (query.toConstructor())());
      await new Promise((resolve) => { setImmediate(resolve); });
    }
    await done;
    assert.ok(copies.length > 2);
    copies.forEach((copy, index) => copy.setQuery({ tenant: `y${index}` }));
    await Promise.all(copies.map((copy) => copy.exec()));
  } },
  "replaceOne": { run: ({ Model }) => Model.replaceOne({ tenant: "x" }, { tenant: "x" }, upsert) },
  "replaceOne-number": { run: ({ Model }) => Model.replaceOne({ tenant: "x" }, { tenant: "x", number: 7 }, upsert) },
  "findOneAndReplace": { run: ({ Model }) => Model.findOneAndReplace({ tenant: "x" }, { tenant: "x" }, { runValidators: true, ...upsert }) },
  "replace-found": { run: async ({ Model }) => {
    const { number } = await Model.create({ tenant: "x" });
    const errors = [];
    for (const replace of [
      () => Model.replaceOne({ tenant: "x" }, { tenant: "y" }), () => Model.findOneAndReplace({ tenant: "x" }, { tenant: "y" }),
      () => Model.bulkWrite([{ replaceOne: { filter: { tenant: "x" }, replacement: { tenant: "y" } } }]),
      async () => (await Model.findOne()).replaceOne({ tenant: "y" }),
    ]) await replace().catch((error) => errors.push(error));
    assert.deepEqual((await Model.find()).map((one) => [one.tenant, one.number]), [["x", number]]);
    assert.equal(errors.length, 4);
    await Model.deleteMany({});
    throw errors[0];
  } },
  "overwrite-found": { run: async ({ Model }) => {
    const one = await Model.create({ tenant: "x" });
    one.overwrite({ tenant: "y" });
    await one.save();
  } },
  "getter": { run: ({ Model }) => Model.create({}), paths: { number: { type: Number, get: (value) => value ?? 0 } } },
  "setter": { run: async ({ Model }) => { await Model.create({}); await Model.insertMany(two); }, paths: { tenant: String, number: { type: Number, set: (value) => value } } },
  "alias": { run: async ({ Model, client, sequence }) => {
    await Model.create({});
    await Model.insertMany([{}, { code: 70 }]);
    assert.equal((await Model.findOne({ number: 70 })).code, 70);
    assert.equal((await client.peek(sequence)).last, 2);
  }, field: "code", paths: { number: { type: Number, alias: "code" } } },
  "alias-update": { run: async ({ Model, client, sequence }) => {
    await Model.updateOne({ tenant: "x" }, { $set: { code: 70 } }, upsert);
    await Model.updateOne({ tenant: "y" }, { $setOnInsert: { code: 70 } }, upsert);
    await Model.bulkWrite([{ updateOne: { filter: { tenant: "z" }, update: { $set: { code: 70 } }, upsert: true } }]);
    await Model.insertMany([{ code: 70 }], { lean: true });
    assert.equal((await client.peek(sequence)).last, 4);
  }, field: "code", paths: { tenant: String, number: { type: Number, alias: "code" } } },
  "alias-translated": { run: async ({ Model, client, sequence }) => {
    await Model.updateOne({ tenant: "x" }, { $set: { code: 70 } }, { translateAliases: true, ...upsert });
    await Model.updateOne({ tenant: "y" }, { $set: { tenant: "z" } }, { translateAliases: true, ...upsert });
    await Model.replaceOne({ tenant: "w" }, { tenant: "w", code: 71 }, upsert);
    assert.equal((await client.peek(sequence)).last, 1);
  }, field: "code", paths: { tenant: String, number: { type: Number, alias: "code" } } },
  "required": { run: async ({ Model }) => { await Model.create({}); await Model.insertMany(two); }, paths: { tenant: String, number: { type: Number, required: true } } },
  "immutable": { run: async ({ Model }) => { await Model.create({}); await Model.updateOne({ tenant: "x" }, { size: 1 }, upsert); },
    paths: { tenant: String, size: Number, number: { type: Number, immutable: true } } },
  "immutable-given": { run: async ({ Model, client, sequence }) => {
    await Model.updateOne({ tenant: "a" }, { $set: { number: 70 } }, upsert);
    await Model.updateOne({ tenant: "b" }, { number: 71 }, upsert);
    await Model.updateOne({ tenant: "c" }, { $setOnInsert: { number: 72 }, $inc: { size: 1 } }, upsert);
    await Model.updateOne({ number: 73 }, { $inc: { size: 1 } }, upsert);
    await Model.bulkWrite([{ updateOne: { filter: { tenant: "e" }, update: { $set: { number: 74 } }, ...upsert } }]);
    await Model.replaceOne({ tenant: "f" }, { number: 75 }, upsert);
    assert.deepEqual((await Model.find().sort({ number: 1 })).map(({ number }) => number), [70, 71, 72, 73, 74, 75]);
    assert.equal((await client.peek(sequence)).last, null);
  }, paths: { tenant: String, size: Number, number: { type: Number, immutable: true } } },
  "immutable-changed": { run: async ({ Model }) => {
    const errors = [];
    for (const update of [{ $max: { number: 7 } }, { $inc: { number: 7 } }, { $min: { number: 7 } }, { $mul: { number: 7 } }]) {
      await Model.updateOne({ tenant: "x" }, update, upsert).catch((error) => errors.push(error));
      await Model.findOneAndUpdate({ tenant: "x" }, update, upsert).catch((error) => errors.push(error));
      await Model.bulkWrite([{ updateOne: { filter: { tenant: "x" }, update, ...upsert } }]).catch((error) => errors.push(error));
    }
    assert.equal(await Model.countDocuments(), 0);
    assert.equal(errors.length, 12);
    throw errors[0];
  }, paths: { tenant: String, number: { type: Number, immutable: () => true } } },
  "immutable-whole": { run: ({ Model }) => Model.updateOne({ tenant: "x" }, { $set: { inner: { other: 1, number: 7 } } }, upsert), field: "inner.number",
    paths: { tenant: String, inner: { number: { type: Number, immutable: true }, other: Number } } },
  "hooks": { run: async ({ Model }) => { await Model.create({}); await Model.insertMany([{}]); }, isLate: true, sequence: ({ tenant }) => `hooks.${tenant}`,
    prepare: (schema) => {
      schema.pre("save", async function tell() { this.tenant = "x"; });
      schema.pre("insertMany", async function tell(first, second) {
        for (const one of typeof first === "function" ? second : first) one.tenant = "x";
      });
    } },
  "own-static": { run: ({ Model }) => Model.insertMany(two), isLate: true,
    prepare: (schema) => { schema.statics.insertMany = function own(...given) { return this.base.Model.insertMany.apply(this, given); }; } },
  "own-static-after": { run: ({ Model }) => Model.insertMany(two),
    prepare: (schema) => { schema.statics.insertMany = function own(docs, options) { return this.base.Model.insertMany.call(this, docs, typeof options === "function" ? {} : options); }; } },
  "own-static-after-one": { run: ({ Model }) => Model.insertMany({ tenant: "x" }),
    prepare: (schema) => { schema.statics.insertMany = function own(docs, options) { return this.base.Model.insertMany.call(this, docs, typeof options === "function" ? {} : options); }; } },
  "own-static-maps": { run: ({ Model }) => Model.insertMany(two).catch((error) => {
    assert.match(error.text ?? error.message, /pass on the list/);
    throw error;
  }), isLate: true,
    prepare: (schema) => {
      schema.statics.insertMany = function own(docs, ...others) { return this.base.Model.insertMany.call(this, docs.map((one) => ({ ...one, size: 1 })), ...others); };
    } },
  "own-static-driver": { run: async ({ Model }) => {
    await Model.insertMany(two);
    await Model.insertMany({ tenant: "x" });
    await Model.bulkWrite([insertOne, { updateOne: upsertOne }]);
    assert.equal(two[0].number, undefined);
  }, isLate: true,
    prepare: (schema) => {
      schema.statics.insertMany = function own(docs) { return this.collection.insertMany(docs); };
      schema.statics.bulkWrite = function own(operations) { return this.collection.bulkWrite(operations); };
    } },
  "scope-missing": { run: ({ Model }) => Model.create({}), sequence: ({ tenant }) => `tickets.${tenant}` },
  "without-hooks": { run: ({ Model }) => new Model({}).save(withoutHooks) },
  "without-hooks-insertMany": { run: ({ Model }) => Model.insertMany(two, withoutHooks) },
  "without-hooks-bulkWrite": { run: ({ Model }) => Model.bulkWrite([insertOne], withoutHooks) },
  "without-hooks-bulkSave": { run: ({ Model }) => Model.bulkSave([new Model({})], withoutHooks) },
  "without-hooks-upsert": { run: ({ Model }) => Model.updateOne({ tenant: "x" }, { size: 1 }, { ...withoutHooks, ...upsert }) },
  "transaction": { run: async ({ Model, mongoose, connection }) => {
    await Model.createCollection();
    let attempts = 0;
    await connection.transaction(async (session) => {
      await Model.insertMany(two, { session });
      await Model.updateOne({ tenant: "z" }, { size: 1 }, { session, ...upsert });
      if (++attempts === 1) throw new mongoose.mongo.MongoServerError({ message: "once more", errorLabels: ["TransientTransactionError"] });
    });
    assert.equal(attempts, 2);
  } },
  "base": { ...kinds("base"), run: async ({ Model, Kind, kind }) => {
    await Kind.create({});
    await Kind.insertMany([{}]);
    await Kind.bulkWrite([insertOne]);
    await Kind.updateOne({ size: 1 }, { tenant: "x" }, upsert);
    await Model.create({ kind });
    await Model.insertMany([{ kind }, {}]);
    await Model.bulkWrite([{ insertOne: { document: { kind } } }]);
    await Model.updateOne({ kind, size: 2 }, { tenant: "x" }, upsert);
  } },
  "kind": { ...kinds("kind"), run: async ({ Kind }) => {
    await Kind.create({});
    await Kind.insertMany([{}, {}]);
    await Kind.insertMany([{}], { lean: true });
    await Kind.bulkWrite([insertOne]);
    await Kind.updateOne({ size: 1 }, { tenant: "x" }, upsert);
    await Kind.findOneAndUpdate({ size: 2 }, { tenant: "x" }, upsert);
  } },
  "kind-by-base": { ...kinds("kind"), run: async ({ Model, kind }) => {
    await Model.create({ kind });
    await Model.insertMany([{ kind }, { kind, size: 1 }]);
    await Model.bulkWrite([{ insertOne: { document: { kind } } }]);
  } },
  "kind-by-base-lean": { ...kinds("kind"), run: ({ Model, kind }) => Model.insertMany([{ kind }], { lean: true }) },
  "kind-by-base-without-validation": { ...kinds("kind"), run: ({ Model, kind }) => Model.bulkWrite([{ insertOne: { document: { kind } } }], { skipValidation: true }) },
  "kind-by-base-upsert": { ...kinds("kind"), run: ({ Model, kind }) => Model.updateOne({ kind, size: 1 }, { tenant: "x" }, upsert) },
  "part": { ...parts, run: async ({ Model }) => {
    const one = await Model.create({ parts: [{}, { size: 1 }] });
    one.parts.push({ size: 2 });
    await one.save();
    await Model.insertMany([{ parts: [{}] }, { parts: [{}, {}] }]);
    await Model.bulkWrite([{ insertOne: { document: { parts: [{}] } } }]);
  } },
  "part-lean": { ...parts, run: ({ Model }) => Model.insertMany([{ parts: [{}, {}] }], { lean: true }) },
  "part-without-validation": { ...parts, run: ({ Model }) => Model.bulkWrite([{ insertOne: { document: { parts: [{}] } } }], { skipValidation: true }) },
  "part-replace": { ...parts, run: async ({ Model }) => {
    await Model.collection.insertOne({ tenant: "x" });
    await Model.replaceOne({ tenant: "x" }, { parts: [{}] });
  } },
  "part-upsert": { ...parts, run: ({ Model }) => Model.updateOne({ tenant: "x" }, { parts: [{}] }, upsert) },
  "part-push": { ...parts, run: async ({ Model }) => {
    const { _id } = await Model.create({});
    await Model.updateOne({ _id }, { $push: { parts: { size: 1 } } });
    await Model.updateOne({ _id }, { $set: { "parts.1": { size: 1 } } });
  } },
  "part-single": { ...singles, run: async ({ Model }) => {
    const one = await Model.create({ one: {}, named: { a: {} }, list: [{ one: {} }] });
    one.list.push({ one: { size: 1 } });
    await one.save();
    const { insertedId } = await Model.collection.insertOne({ named: {}, list: [{}] });
    const other = await Model.findById(insertedId);
    setSingles(other, { size: 1 });
    await Model.bulkSave([other]);
    const { insertedId: third } = await Model.collection.insertOne({ tenant: "x" });
    const last = await Model.findById(third);
    last.set("one.size", 1);
    last.named = { a: { size: 1 } };
    last.list = [{ one: { size: 1 } }];
    await last.save();
  } },
  "part-replaced": { ...singles, run: async ({ Model, client, sequence }) => {
    await Model.create({ one: {}, named: { a: {} }, list: [{ one: {} }] });
    const one = await Model.findOne();
    setSingles(one, { size: 1 });
    await one.save();
    for (const part of singlesOf(one)) part.number = undefined;
    await one.save();
    assert.equal((await client.peek(sequence)).last, 9);
  } },
  "part-old": { ...singles, run: async ({ Model }) => {
    await Model.collection.insertOne({ one: { size: 1 }, named: { a: { size: 1 } }, list: [{ one: { size: 1 } }], outer: {} });
    const one = await Model.findOne();
    for (const part of singlesOf(one)) part.size = 2;
    one.set("outer.one.size", 2);
    await one.save();
  } },
  "part-hook": { ...parts, run: async ({ Model }) => {
    await Model.create({ tenant: "x" });
    const one = await Model.findOne();
    one.tenant = "y";
    await one.save();
  }, prepare: (schema, world) => {
    parts.prepare(schema, world);
    schema.pre("save", async function add() { this.parts.push({ size: 1 }); });
  } },
  // The server of the tests is older than this command: what is sent to it tells as much.
  "connection-bulkWrite": { isSent: true, exists: ({ connection }) => connection.bulkWrite !== undefined, run: async ({ Model, connection }) => {
    const sent = [];
    connection.getClient().on("commandStarted", ({ commandName, command }) => { if (commandName === "bulkWrite") sent.push(...command.ops.documents ?? command.ops); });
    await assert.rejects(connection.bulkWrite([{ model: Model.modelName, name: "insertOne", document: {} }]));
    return sent.map(({ document }) => document);
  } },
  "aggregate": { run: async ({ Model, Schema, connection }) => {
    const Source = connection.model("Source", new Schema({ tenant: String }));
    await Source.create({ tenant: "x" });
    await Source.aggregate([{ $merge: { into: Model.collection.name } }]);
  } },
  "collection": { run: ({ Model }) => Model.collection.insertOne({ tenant: "x" }) },
};
