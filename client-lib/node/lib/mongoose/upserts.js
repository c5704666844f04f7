"use strict";
// Upserts: what an update inserts if it finds nothing. The ID goes into $setOnInsert, so that a document
// that is found keeps its own. Whether it will be found is not known before, so each upsert takes one.
const { ArgumentError } = require("../errors.js");
const { isEmpty } = require("../numbering.js");
const { getAt, setAt } = require("./paths.js");

const isPlain = (value) => value !== null && typeof value === "object" && [Object.prototype, null].includes(Object.getPrototypeOf(value));
const isCondition = (value) => isPlain(value) && Object.keys(value).some((key) => key.startsWith("$"));

/** What a document that is inserted gets of the filter: its equalities. */
function equalities(filter, record = {}) {
  for (const [key, value] of Object.entries(filter ?? {})) {
    if (key === "$and" && Array.isArray(value)) for (const one of value) equalities(one, record);
    else if (key.startsWith("$") || value instanceof RegExp) continue;
    else if (!isCondition(value)) setAt(record, key, value);
    else if (Object.hasOwn(value, "$eq")) setAt(record, key, value.$eq);
  }
  return record;
}

/** The changes of an update as [operator, path, value]. */
function changesOf(update) {
  return Object.entries(update).flatMap(([key, value]) =>
    key.startsWith("$") ? Object.entries(value ?? {}).map(([path, one]) => [key, path, one]) : [["$set", key, value]]);
}

/** The operators that give a document that is inserted a value; others change only one that is there. */
const GIVING = ["$set", "$setOnInsert", "$inc", "$mul", "$min", "$max", "$bit", "$push", "$addToSet"];

const gives = (operator) => GIVING.includes(operator);
/** Whether mongoose leaves a change of the immutable path in an upsert. */
const keeps = (names) => (operator, path) => operator === "$setOnInsert" || (operator === "$set" && names.includes(path));

/** The document that the upsert would insert, as far as the changes that count say; a replacement is the document. */
function recordOf({ filter, update, isReplacement }, counts = gives) {
  const record = equalities(isReplacement ? { _id: filter?._id } : filter);
  if (record._id === undefined) delete record._id;
  if (isReplacement) return Object.assign(record, typeof update.toObject === "function" ? update.toObject({ getters: false }) : update);
  if (Array.isArray(update)) return record;
  for (const [operator, path, value] of changesOf(update))
    if (counts(operator, path)) setAt(record, path, value);
  return record;
}

/** The error for a replacement without a number. */
const removes = (path) =>
  new ArgumentError(`a replacement without ${path} would remove ${path} of the document that it replaces: set it, or use updateOne or findOneAndUpdate with $set`);

/** The error for an upsert whose document would have a number of a register. */
const insertsPerhaps = (field) =>
  new ArgumentError(`an upsert may insert nothing, and a number of a register would belong to no document: find the document, and save one that is missing, or set ${field}`);

/** Throws where the update cannot carry an ID at the path that is used for inserted documents only. */
function checkUpdate({ update, isUpsert, isReplacement }, path) {
  if (isReplacement) {
    if (path === "_id" && !isUpsert) return; // the document keeps it
    throw removes(path);
  }
  const no = (why) => new ArgumentError(`an upsert that ${why} cannot give ${path} an ID: use updateOne or findOneAndUpdate with $set, or set ${path}`);
  if (Array.isArray(update)) throw no("is a pipeline");
  for (const [operator, changed] of changesOf(update)) {
    if (operator === "$setOnInsert") continue;
    if (changed === path || changed.startsWith(`${path}.`)) throw no(`changes ${changed} itself`);
    if (path.startsWith(`${changed}.`)) throw no(`changes ${changed} as a whole`);
  }
}

/** A copy of the update that inserts `value` at the path. */
function withInserted(update, path, value) {
  const given = { ...update.$setOnInsert };
  const parent = Object.keys(given).find((key) => path.startsWith(`${key}.`));
  if (parent === undefined) given[path] = value;
  else {
    given[parent] = { ...given[parent] };
    setAt(given[parent], path.slice(parent.length + 1), value);
  }
  return { ...update, $setOnInsert: given };
}

/** Whether the record has a value at one of the names of a path. */
const hasValue = (record, names) => names.some((name) => !isEmpty(getAt(record, name)));

module.exports = { checkUpdate, hasValue, insertsPerhaps, keeps, recordOf, removes, withInserted };
