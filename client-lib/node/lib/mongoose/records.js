"use strict";
// Records of mongoose get their IDs: documents, plain objects, operations of bulkWrite(), and upserts.
const { isEmpty, takeIds } = require("../numbering.js");
const { setAt } = require("./paths.js");
const { checkUpdate, hasValue, insertsPerhaps, keeps, recordOf, removes, withInserted } = require("./upserts.js");

const isDocument = (record) => typeof record.$set === "function" && typeof record.get === "function";
const wantsBigint = (schema, field) => ({ bigint: schema.path(field.field)?.instance === "BigInt" });
/** The path of a field, and its aliases. */
const namesOf = (schema, { field }) => [field, ...Object.keys(schema.aliases ?? {}).filter((alias) => schema.aliases[alias] === field)];

/** Documents of mongoose, in their place. */
async function numberDocuments(fields, documents) {
  await Promise.all(fields.map(async (field) => {
    // A getter may make a value of nothing.
    const empty = documents.filter((document) => isEmpty(document.get(field.field, null, { getters: false })));
    if (empty.length === 0) return;
    const ids = await takeIds(field, empty, wantsBigint(empty[0].$__schema ?? empty[0].schema, field));
    empty.forEach((document, index) => document.set(field.field, ids[index]));
  }));
}

/** Throws if a document that replaces another one would remove its number. */
function checkReplacement(fields, document) {
  for (const { field } of fields) if (isEmpty(document.get(field, null, { getters: false }))) throw removes(field);
}

/** What a function that names the sequence gets: the document that `Model` makes of the object, with its
 * defaults, as before save(). Without a Model mongoose inserts the object as it is. */
function asSaved(record, Model) {
  if (Model === undefined) return record;
  try {
    return new Model(record);
  } catch {
    return record; // mongoose cannot make one of it either, and says so
  }
}

/** The items of insertMany() or bulkWrite(). A plain object is replaced by a copy, so that one that occurs
 * twice gets two IDs and the caller's stays as it is; documents are changed in their place. */
async function numberItems(fields, Model, list, { isLean = false, isBulk = false }) {
  const documents = [];
  const plain = []; // { place, copy }
  const upserts = [];
  list.forEach((item, place) => {
    if (isBulk && !item?.insertOne) {
      upserts.push(numberOperation(fields, Model, list, place));
      return;
    }
    const given = isBulk ? item.insertOne.document : item;
    const record = isLean ? given : given ?? {}; // mongoose makes a document of nothing
    if (record === null || typeof record !== "object") return;
    if (isDocument(record)) documents.push(record);
    else plain.push({ place, copy: { ...record } });
  });
  await Promise.all([...upserts, numberDocuments(fields, documents), ...fields.map(async (field) => {
    const names = isLean ? [field.field] : namesOf(Model.schema, field);
    const empty = plain.filter(({ copy }) => !hasValue(copy, names));
    if (empty.length === 0) return;
    // The key of a register is what mongoose makes of the _id that is given, and not one that it makes up here.
    const isRead = (copy) => (field.register ? !isEmpty(copy._id) : typeof field.sequence === "function");
    const records = empty.map(({ copy }) => (isRead(copy) ? asSaved(copy, isLean ? undefined : Model) : copy));
    const ids = await takeIds(field, records, wantsBigint(Model.schema, field));
    empty.forEach(({ copy }, index) => setAt(copy, field.field, ids[index]));
  })]);
  for (const { place, copy } of plain)
    list[place] = isBulk ? { ...list[place], insertOne: { ...list[place].insertOne, document: copy } } : copy;
}

/** An operation of bulkWrite() that may insert, or replace. */
async function numberOperation(fields, Model, list, place) {
  for (const name of ["updateOne", "updateMany", "replaceOne"]) {
    const operation = list[place]?.[name];
    const isReplacement = name === "replaceOne";
    if (!operation?.upsert && (operation === undefined || !isReplacement)) continue;
    const part = isReplacement ? "replacement" : "update";
    const update = operation[part] ?? {};
    const changed = await numberUpdate(fields, Model, { filter: operation.filter, update, isUpsert: Boolean(operation.upsert), isReplacement });
    list[place] = { ...list[place], [name]: { ...operation, [part]: changed } };
  }
}

/** The update of an upsert with the IDs of what it may insert: a copy, or itself if it has them all. Throws
 * where it cannot carry one, and for a replacement without them. Of an update mongoose ignores aliases, unless
 * `isTranslated`; of a replacement it makes a document. */
async function numberUpdate(fields, Model, given) {
  const { schema } = Model;
  const record = recordOf(given);
  const namesIn = (field) => (given.isReplacement || given.isTranslated ? namesOf(schema, field) : [field.field]);
  const isImmutable = ({ field }) => Boolean(schema.path(field)?.options.immutable);
  const empty = fields.filter((field) =>
    !hasValue(isImmutable(field) ? recordOf(given, keeps(namesIn(field))) : record, namesIn(field)));
  for (const field of empty) for (const name of namesIn(field)) checkUpdate(given, name);
  if (!given.isUpsert) return given.update;
  for (const { field, register } of empty) if (register) throw insertsPerhaps(field);
  const ids = await Promise.all(empty.map(async (field) => {
    const [id] = await takeIds(field, [typeof field.sequence === "function" ? asSaved(record, Model) : record], wantsBigint(schema, field));
    return id;
  }));
  return empty.reduce((update, { field }, index) => withInserted(update, field, ids[index]), given.update);
}

module.exports = { checkReplacement, numberDocuments, numberItems, numberUpdate };
