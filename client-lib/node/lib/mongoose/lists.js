"use strict";
// The lists of insertMany() and bulkWrite(). Statics give mongoose lists of their own, so that the hooks can
// put numbered copies into them and the caller's lists stay as they are.
const { ArgumentError } = require("../errors.js");
const { numberItems } = require("./records.js");

const ours = new WeakMap(); // the lists that are no caller's, with the options of the call
const statics = new WeakSet();

const copyDocuments = (docs) => (Array.isArray(docs) ? [...docs] : [docs]);
const copyOperation = (operation) => Object.fromEntries(Object.entries(operation ?? {}).map(([name, one]) => [name, one && { ...one }]));
const copyOperations = (operations) => (Array.isArray(operations) ? operations.map(copyOperation) : operations);

function numberLists(schema, fields) {
  hook(schema, "insertMany", (Model, list) => numberItems(fields, Model, list, { isLean: ours.get(list)?.lean }));
  hook(schema, "bulkWrite", (Model, list) => numberItems(fields, Model, list, { isBulk: true }));
  addStatic(schema, "insertMany", copyDocuments);
  addStatic(schema, "bulkWrite", copyOperations);
}

const isSeven = (Model) => Model.base.version.startsWith("7.");
/** Up to mongoose 8 the first argument of a hook is next(), and the promise is awaited all the same. */
const listOf = (first, second) => (typeof first === "function" ? second : first);
const ofStatic = (name) => `seqd ${name}`;

function hook(schema, name, number) {
  schema.pre(name, async function numberList(first, second) {
    const list = listOf(first, second);
    if (ours.has(list)) return number(this, list);
    if (!Array.isArray(list) && name === "bulkWrite") return undefined; // mongoose refuses it
    const isLast = statics.has(this.schema.statics[name]);
    if (isLast && isSeven(this)) return undefined; // the static comes behind this hook
    throw new ArgumentError(isLast ? `the static ${name} of the schema has to pass on the list that it got, which has the numbers` :
      `the schema has a static ${name} of its own: call schema.plugin() after it`);
  });
  schema.pre(ofStatic(name), async function numberListOfStatic(first, second) { await number(this, listOf(first, second)); });
}

function addStatic(schema, name, copy) {
  const given = schema.statics[name];
  if (statics.has(given)) return;
  schema.statics[name] = async function withOwnList(list, options) {
    const own = copy(list);
    if (Array.isArray(own)) ours.set(own, options);
    // A static of the schema may call the driver itself. Mongoose 7 puts the hooks around each static, which gets a
    // callback behind its arguments.
    if (Array.isArray(own) && (given !== undefined || isSeven(this))) await runHooks(this, ofStatic(name), own);
    if (!isSeven(this)) return (given ?? this.base.Model[name]).call(this, own, options);
    return (given ?? withoutHooks[name]).call(this, own, typeof options === "function" ? undefined : options);
  };
  statics.add(schema.statics[name]);
}

const runHooks = (Model, name, list) => new Promise((resolve, reject) => {
  Model.hooks.execPre(name, Model, [list], (error) => { if (error) reject(error); else resolve(); })?.then(resolve, reject);
});

/** The functions of mongoose 7, behind the hooks. */
const withoutHooks = {
  insertMany(docs, options) {
    return new Promise((resolve, reject) => {
      this.base.Model.$__insertMany.call(this, docs, options, (error, result) => { if (error) reject(error); else resolve(result); });
    });
  },
  bulkWrite(operations, options) { return this.base.Model.bulkWrite.call(this, operations, options); },
};

module.exports = { numberLists };
