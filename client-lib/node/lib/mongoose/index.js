"use strict";
// The mongoose plugin: new documents get an ID of a sequence before they are saved, unless the
// field has a value. See types/mongoose.d.ts.
//
// IDs are taken as late as possible: after the validation, except for a required field.
const { ArgumentError } = require("../errors.js");
const { isEmpty, readFields, takeIds } = require("../numbering.js");
const { getAt, setAt } = require("./paths.js");

// Plain objects that got IDs here: a map of the fields to these IDs. A caller may insert the same array
// or object again: values that are still the same are not the caller's, and have to be replaced.
const numbered = new WeakMap();
const NONE = new Map();

function plugin(schema, options) {
  const fields = readFields(options);
  if (fields.some(({ field }) => field === "_id") && schema.path("_id")?.options.auto)
    throw new ArgumentError("the schema makes an ObjectId for each _id: give it a path _id of the type Number or String");
  for (const { field, text } of fields) if (schema.path(field) === undefined) schema.add({ [field]: text ? String : Number });
  const isRequired = (field) => schema.path(field.field)?.isRequired === true;

  schema.pre("validate", async function numberRequired() {
    if (this.isNew) await numberDocuments(fields.filter(isRequired), [this]);
  });
  schema.pre("save", async function numberNew() {
    if (this.isNew) await numberDocuments(fields, [this]);
  });
  // Up to mongoose 8 the first argument is next(), and the promise is awaited all the same.
  schema.pre("insertMany", async function numberMany(first, second, third) {
    const [docs, settings] = typeof first === "function" ? [second, third] : [first, second];
    const Model = settings?.lean ? undefined : this;
    if (Array.isArray(docs)) await numberAll(schema, fields, Model, docs, (doc) => doc, (doc) => doc);
    else await numberObject(schema, fields, Model, docs);
  });
  schema.pre("bulkWrite", async function numberBulk(first, second) {
    const operations = typeof first === "function" ? second : first;
    if (!Array.isArray(operations)) return;
    await numberAll(schema, fields, this, operations, (operation) => operation?.insertOne?.document,
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

/** What a function that names the sequence gets: the document that `Model` makes of the object, with its
 * defaults, as before save(). Without a Model mongoose inserts the object as it is. */
function asSaved(one, Model) {
  if (Model === undefined) return one.copy;
  try {
    one.document ??= new Model(one.copy);
  } catch {
    return one.copy; // mongoose cannot make one of it either, and says so
  }
  return one.document;
}

/** The records of `list`, which `recordOf` finds in its items. Documents are changed in their place;
 * for a plain object a copy is put into the list by `withRecord`, so that an object that occurs
 * twice gets two IDs. */
async function numberAll(schema, fields, Model, list, recordOf, withRecord) {
  const documents = [];
  const plain = []; // { place, copy, before, filled, document }
  list.forEach((item, place) => {
    const record = recordOf(item);
    if (record === null || typeof record !== "object") return;
    if (isDocument(record)) documents.push(record);
    else plain.push({ place, copy: { ...record }, before: numbered.get(record) ?? NONE, filled: new Map() });
  });
  for (const { copy, before } of plain)
    for (const { field } of fields)
      if (before.has(field) && before.get(field) === getAt(copy, field)) setAt(copy, field, undefined);
  await Promise.all([numberDocuments(fields, documents), ...fields.map(async (field) => {
    const empty = plain.filter(({ copy }) => isEmpty(getAt(copy, field.field)));
    if (empty.length === 0) return;
    const records = typeof field.sequence === "function" ? empty.map((one) => asSaved(one, Model)) : empty;
    const ids = await takeIds(field, records, wantsBigint(schema, field));
    empty.forEach((one, index) => {
      setAt(one.copy, field.field, ids[index]);
      one.filled.set(field.field, ids[index]);
    });
  })]);
  for (const { place, copy, before, filled } of plain) {
    if (filled.size === 0) continue;
    numbered.set(copy, new Map([...before, ...filled])); // another use of the plugin may have filled others
    list[place] = withRecord(copy, list[place]);
  }
}

/** insertMany() with one object: it cannot be replaced by a copy. */
async function numberObject(schema, fields, Model, record) {
  if (record === null || typeof record !== "object") return;
  const list = [record];
  await numberAll(schema, fields, Model, list, (one) => one, (one) => one);
  if (list[0] === record) return;
  const ids = numbered.get(list[0]);
  for (const field of ids.keys()) setAt(record, field, getAt(list[0], field));
  numbered.set(record, ids);
}

module.exports = plugin;
module.exports.mongoose = plugin;
