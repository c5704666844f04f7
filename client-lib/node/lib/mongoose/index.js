"use strict";
// The mongoose plugin: new documents get an ID of a sequence before they are saved, unless the
// field has a value. See types/mongoose.d.ts.
//
// IDs are taken as late as possible: after the validation, except for a required field.
const { isEmpty, readFields, takeIds } = require("../numbering.js");
const { getAt, setAt } = require("./paths.js");

// Plain objects that got IDs here, and in which fields. A caller may insert the same array or object
// again: these values are not the caller's, and have to be replaced.
const numbered = new WeakMap();

function plugin(schema, options) {
  const fields = readFields(options);
  for (const { field, text } of fields) if (schema.path(field) === undefined) schema.add({ [field]: text ? String : Number });
  const isRequired = (field) => schema.path(field.field)?.isRequired === true;

  schema.pre("validate", async function numberRequired() {
    if (this.isNew) await numberDocuments(fields.filter(isRequired), [this]);
  });
  schema.pre("save", async function numberNew() {
    if (this.isNew) await numberDocuments(fields, [this]);
  });
  // Up to mongoose 8 the first argument is next(), and the promise is awaited all the same.
  schema.pre("insertMany", async function numberMany(first, second) {
    const docs = typeof first === "function" ? second : first;
    if (Array.isArray(docs)) await numberAll(schema, fields, docs, (doc) => doc, (doc) => doc);
    else await numberObject(schema, fields, docs);
  });
  schema.pre("bulkWrite", async function numberBulk(first, second) {
    const operations = typeof first === "function" ? second : first;
    if (!Array.isArray(operations)) return;
    await numberAll(schema, fields, operations, (operation) => operation?.insertOne?.document,
      (document, operation) => ({ ...operation, insertOne: { ...operation.insertOne, document } }));
  });
}

const isDocument = (record) => typeof record.$set === "function" && typeof record.get === "function";
const wantsBigint = (schema, field) => ({ bigint: schema.path(field.field)?.instance === "BigInt" });

/** Documents of mongoose, in their place. */
async function numberDocuments(fields, documents) {
  await Promise.all(fields.map(async (field) => {
    const empty = documents.filter((document) => isEmpty(document.get(field.field)));
    if (empty.length === 0) return;
    const ids = await takeIds(field, empty, wantsBigint(empty[0].$__schema ?? empty[0].schema, field));
    empty.forEach((document, index) => document.set(field.field, ids[index]));
  }));
}

/** The records of `list`, which `recordOf` finds in its items. Documents are changed in their place;
 * for a plain object a copy is put into the list by `withRecord`, so that an object that occurs
 * twice gets two IDs. */
async function numberAll(schema, fields, list, recordOf, withRecord) {
  const documents = [];
  const plain = []; // { place, copy, filled }
  list.forEach((item, place) => {
    const record = recordOf(item);
    if (record === null || typeof record !== "object") return;
    if (isDocument(record)) documents.push(record);
    else plain.push({ place, copy: { ...record }, before: numbered.get(record) ?? new Set(), filled: new Set() });
  });
  await Promise.all([numberDocuments(fields, documents), ...fields.map(async (field) => {
    const empty = plain.filter(({ copy, before }) => before.has(field.field) || isEmpty(getAt(copy, field.field)));
    const ids = empty.length === 0 ? [] : await takeIds(field, empty.map(({ copy }) => copy), wantsBigint(schema, field));
    empty.forEach((one, index) => {
      setAt(one.copy, field.field, ids[index]);
      one.filled.add(field.field);
    });
  })]);
  for (const { place, copy, filled } of plain) {
    if (filled.size === 0) continue;
    numbered.set(copy, filled);
    list[place] = withRecord(copy, list[place]);
  }
}

/** insertMany() with one object: it cannot be replaced by a copy. */
async function numberObject(schema, fields, record) {
  if (record === null || typeof record !== "object") return;
  const list = [record];
  await numberAll(schema, fields, list, (one) => one, (one) => one);
  if (list[0] === record) return;
  for (const field of numbered.get(list[0])) setAt(record, field, getAt(list[0], field));
  numbered.set(record, numbered.get(list[0]));
}

module.exports = plugin;
module.exports.mongoose = plugin;
