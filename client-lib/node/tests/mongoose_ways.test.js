"use strict";
// Each way of writing in ways/mongoose.json with each version of mongoose, on a real mongod: the cell says
// what really happens. The README's table is made of the same file.
const { describe, test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const seqd = require("../lib/index.js");
const table = require("./ways/mongoose.json");
const ways = require("./ways/mongoose.js");
const { MONGOOSES } = require("./support/mongooses.js");
const { Daemon } = require("./support/daemon.js");
const { startServers } = require("./support/servers.js");
const { assertReadme, valuesAt } = require("./support/ways.js");

let daemon;
let client;
let uri;
let endServers;

before(async () => {
  ({ mongo: uri, end: endServers } = await startServers("mongo"));
  daemon = await new Daemon({ sequences: { "*": {} }, defaults: { wait_timeout: "30s" } }).start();
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

    before(async () => {
      mongoose = require(name);
      connection = await mongoose.createConnection(uri, { dbName: `ways${version.at(-1)}`, monitorCommands: true }).asPromise();
    });
    after(() => connection?.close());

    /** What the row did: "number", "refused", "none", or "-": there is no such call. */
    async function outcomeOf(row) {
      const way = ways[row.id];
      const { Schema } = mongoose;
      const field = way.field ?? "number";
      const sequence = way.sequence ?? `${name}.${row.id}`;
      const use = (schema) => schema.plugin(seqd.mongoose, { client, field, sequence });
      const schema = new Schema(way.paths ?? { tenant: String, size: Number, number: Number });
      const prepare = () => way.prepare?.(schema, { Schema, use });
      if (way.isLate) prepare();
      if (!way.isPlain) use(schema);
      if (!way.isLate) prepare();
      const Model = connection.model(`Way${row.id}`, schema);
      const world = { Model, Schema, mongoose, connection, client, sequence, use };
      Object.assign(world, way.finish?.(world));
      if (way.exists?.(world) === false) return "-";
      await Model.init();
      let sent;
      let refused;
      try {
        sent = await way.run(world);
      } catch (error) {
        if (!(error instanceof seqd.ArgumentError)) throw error;
        refused = error;
      }
      const stored = field === "code" ? "number" : field;
      const records = way.isSent ? sent : await Model.collection.find().toArray();
      const values = records.flatMap((record) => valuesAt(record, stored));
      if (refused !== undefined) {
        assert.deepEqual(values, [], "something was stored");
        assert.match(refused.text, /\w+ \w+/);
        return "refused";
      }
      assert.ok(values.length > 0, "nothing was stored");
      if (values.every((value) => value === undefined)) return "none";
      assert.ok(values.every((value) => typeof value === "number"), `some have none: ${values}`);
      assert.equal(new Set(values).size, values.length, `a number twice: ${values}`);
      return "number";
    }

    for (const row of table.rows) {
      test(`${row.id}: ${row.way}`, async () => {
        assert.equal(await outcomeOf(row), row[version.at(-1)]);
      });
    }
  });
}

test("each way has its row, and each row its way", () => {
  assert.deepEqual(table.rows.map(({ id }) => id), Object.keys(ways));
});

test("the README has the table", () => assertReadme("mongoose", table));
