"use strict";
// The mongoose plugin: new documents get an ID of a sequence before they are saved, unless the
// field has a value. See types/mongoose.d.ts.
//
// IDs are taken as late as possible: after the validation, except for a required field.
const { ArgumentError } = require("../errors.js");
const { readFields } = require("../numbering.js");
const { numberLists } = require("./lists.js");
const { checkReplacement, numberDocuments, numberUpdate } = require("./records.js");

const UPSERTS = ["updateOne", "updateMany", "replaceOne", "findOneAndUpdate", "findOneAndReplace"];

function plugin(schema, options) {
  const fields = readFields(options, [], ["register"]);
  for (const one of fields) one.field = schema.aliases?.[one.field] ?? one.field;
  if (fields.some(({ field }) => field === "_id") && schema.path("_id")?.options.auto)
    throw new ArgumentError("the schema makes an ObjectId for each _id: give it a path _id of the type Number or String");
  if (fields.some(({ field, register }) => field === "_id" && register))
    throw new ArgumentError("the numbers of a register belong to the _id, so they cannot be the _id: use another field");
  for (const { field, text } of fields) if (schema.path(field) === undefined) schema.add({ [field]: text ? String : Number });
  const isRequired = (field) => schema.path(field.field)?.isRequired === true;
  const newIn = (document) => fields.filter((field) => isNewIn(document, field));

  schema.pre("validate", async function numberRequired() {
    if (this.isNew && isReplacement(this)) checkReplacement(fields, this);
    else await numberDocuments(newIn(this).filter(isRequired), [this]);
  });
  schema.post("validate", async function numberUnseen() {
    if (isUnseen(this, options)) await numberDocuments(newIn(this), [this]);
  });
  schema.pre("save", async function numberNew() {
    await numberDocuments(newIn(this), [this]);
  });
  numberLists(schema, fields);
  numberUpserts(schema, fields);
}

const given = new WeakMap(); // the updates of upserts as the callers gave them, by query

function numberUpserts(schema, fields) {
  schema.pre(UPSERTS, { document: false, query: true }, async function numberInserted() {
    const isUpsert = Boolean(this.getOptions().upsert);
    const isReplacement = /replace/i.test(this.op) || this.mongooseOptions().overwrite === true;
    if (!isUpsert && !isReplacement) return;
    const update = this.getUpdate() ?? {};
    const isTranslated = translatesAliases(this);
    const changed = await numberUpdate(fields, this.model, { filter: this.getFilter(), update, isUpsert, isReplacement, isTranslated });
    if (changed === update) return;
    if (!given.has(this)) keepGiven(this, update); // another use of the plugin may have been first
    this.setUpdate(changed);
  });
  schema.post(UPSERTS, { document: false, query: true }, function restoreUpdate() { restoreGiven(this); });
  schema.post(UPSERTS, { document: false, query: true }, function restoreAfterError(error, result, next) {
    restoreGiven(this);
    next(error);
  });
}

const COPYING = ["clone", "toConstructor"];

/** A copy of the query is another upsert, also while the query is carried out. */
function keepGiven(query, update) {
  given.set(query, update);
  for (const name of COPYING) {
    query[name] = function copyGiven() {
      const carriedOut = this.getUpdate();
      this.setUpdate(given.get(this));
      const copy = Object.getPrototypeOf(this)[name].call(this);
      this.setUpdate(carriedOut);
      return copy;
    };
  }
}

function restoreGiven(query) {
  if (!given.has(query)) return;
  query.setUpdate(given.get(query));
  given.delete(query);
  for (const name of COPYING) delete query[name];
}

/** Whether mongoose puts the path for an alias in the query: its option translateAliases. */
function translatesAliases(query) {
  const { schema, base } = query.model;
  return query.mongooseOptions().translateAliases ?? schema._userProvidedOptions?.translateAliases ?? base.get("translateAliases") ?? false;
}

/** A single subdocument, or one of a Map, is not new when it is set in a document that was stored; its field
 * is modified then. */
const isNewIn = (document, { field }) => document.isNew || (document.$isSubdocument === true && document.isModified(field));

/** Of replaceOne() or findOneAndReplace(), which make a document without an _id: it may replace one that has
 * its ID. */
const isReplacement = (document) => document._id === undefined && document.$__schema.path("_id")?.options.auto === true;

/** Whether insertMany() and bulkWrite() may have come by without the hooks of this use of the plugin:
 * through the model of which this one is a discriminator, or the document that has this one in it. */
function isUnseen(document, options) {
  if (document.$isSubdocument === true) return true;
  const { baseModelName, db } = document.constructor;
  if (baseModelName === undefined || isReplacement(document)) return false;
  return !db.models[baseModelName]?.schema.plugins.some(({ opts }) => opts === options);
}

module.exports = plugin;
module.exports.mongoose = plugin;
