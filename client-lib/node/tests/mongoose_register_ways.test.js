"use strict";
// Each way of writing in ways/mongoose.json with a register, whose numbers belong to the _id: what gets a number
// there gets one, or is refused. The register is one of this file, as a real one needs a table in the configuration.
const { describe, test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const seqd = require("../lib/index.js");
const { keyOf } = require("../lib/register.js");
const table = require("./ways/mongoose.json");
const ways = require("./ways/mongoose.js");
const { MONGOOSES } = require("./support/mongooses.js");
const { startServers } = require("./support/servers.js");
const { valuesAt } = require("./support/ways.js");

let uri;
let endServers;

before(async () => { ({ mongo: uri, end: endServers } = await startServers("mongo")); });
after(() => endServers?.());

// The first two look at what becomes of an upsert, and at the words of another refusal; the last one empties the
// number of a part that keeps its _id, which has the same number again.
const OTHERS = ["query-clone-meanwhile", "own-static-maps", "part-replaced"];

/** One key has one number. */
function register() {
  const numbers = new Map();
  return {
    numbers,
    async assign(name, key) {
      const { text } = keyOf(key);
      if (!numbers.has(text)) numbers.set(text, numbers.size + 1);
      return { number: numbers.get(text), text: String(numbers.get(text)) };
    },
    peek: async () => ({ last: numbers.size === 0 ? null : numbers.size }),
  };
}

for (const [version, name] of MONGOOSES) {
  describe(version, () => {
    let mongoose;
    let connection;

    before(async () => {
      mongoose = require(name);
      connection = await mongoose.createConnection(uri, { dbName: `registerways${version.at(-1)}`, monitorCommands: true }).asPromise();
    });
    after(() => connection?.close());

    for (const row of table.rows) {
      const expected = row[version.at(-1)];
      const way = ways[row.id];
      if (!["number", "refused"].includes(expected) || way.field === "_id" || way.isSent || OTHERS.includes(row.id)) continue;
      test(`${row.id}: ${row.way}`, async () => {
        const { Schema } = mongoose;
        const client = register();
        const field = way.field ?? "number";
        const sequence = way.sequence ?? row.id;
        const use = (schema) => schema.plugin(seqd.mongoose, { client, field, sequence, register: true });
        const schema = new Schema(way.paths ?? { tenant: String, size: Number, number: Number });
        const prepare = () => way.prepare?.(schema, { Schema, use });
        if (way.isLate) prepare();
        if (!way.isPlain) use(schema);
        if (!way.isLate) prepare();
        const Model = connection.model(`Way${row.id}`, schema);
        const world = { Model, Schema, mongoose, connection, client, sequence, use };
        Object.assign(world, way.finish?.(world));
        await Model.init();
        let isRefused = false;
        try {
          await way.run(world);
        } catch (error) {
          if (!(error instanceof seqd.ArgumentError)) throw error;
          isRefused = true;
        }
        const records = await Model.collection.find().toArray();
        const values = records.flatMap((record) => valuesAt(record, field === "code" ? "number" : field));
        assert.ok(values.every((value) => typeof value === "number"), `some have none: ${values}`);
        assert.equal(new Set(values).size, values.length, `a number twice: ${values}`);
        if (expected === "refused") assert.ok(isRefused);
      });
    }
  });
}
