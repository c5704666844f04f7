"use strict";
// What the plugin says of its options, without a server.
const { test } = require("node:test");
const assert = require("node:assert/strict");
const seqd = require("../lib/index.js");

test("options are checked when the schema is made", () => {
  const { Schema } = require("mongoose");
  for (const options of [undefined, {}, { field: "number" }, { sequence: "orders" }, { field: "n", sequence: "s", colour: 1 }, { fields: [] }, { fields: [{ field: "n" }] },
    { fields: [{ field: "n", sequence: "s" }], text: true }, { field: "_id", sequence: "s" }])
    assert.throws(() => new Schema({}).plugin(seqd.mongoose, options), { code: "ARGUMENT" });
});
