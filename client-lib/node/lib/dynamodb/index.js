"use strict";
// DynamoDB: new items get an ID of a sequence before they are saved, unless the attribute has a
// value. See types/dynamodb.d.ts.
const { isDeepStrictEqual } = require("node:util");
const { ArgumentError } = require("../errors.js");
const { isEmpty, readFields, takeIds } = require("../numbering.js");

const TYPES = new Set(["S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"]);

/** A function for the hook before a save: it gives the item back with its IDs. */
function beforeSave(options) {
  const fields = readFields(options);
  return async (item) => (await numberItems(fields, [item]))[0];
}

/** A plugin for the middleware of aws-sdk v3: docClient.middlewareStack.use(plugin(options)). */
function plugin(options) {
  if (typeof options?.table !== "string" || options.table === "") throw new ArgumentError("the option table is the name of a table");
  const fields = readFields(options, ["table"]);
  const kept = new KeptItems((items) => numberItems(fields, items));
  return {
    applyToStack(stack) {
      const number = (next) => async (args) => next({ ...args, input: await numberInput(args.input, options.table, kept) });
      // Before the items are marshalled.
      stack.add(number, { step: "initialize", priority: "high", name: `seqd ${options.table} ${fields.map(({ field }) => field).join(" ")}` });
    },
  };
}

/** The numbered copies of items that were given before: an item that is sent again, as after an error which
 * leaves open whether it was written, keeps its ID. One that was changed meanwhile is another item. */
class KeptItems {
  #number;
  #kept = new WeakMap(); // item: what it was, and a promise of its copy

  constructor(number) { this.#number = number; }

  async number(items) {
    const fresh = items.filter((item, place) => items.indexOf(item) === place && !this.#has(item));
    if (fresh.length > 0) {
      const numbered = this.#number(fresh);
      fresh.forEach((item, place) => this.#keep(item, numbered.then((all) => all[place])));
      await numbered;
    }
    return Promise.all(items.map((item) => this.#kept.get(item).copy));
  }

  #has(item) { return this.#kept.has(item) && isDeepStrictEqual(this.#kept.get(item).was, item); }

  #keep(item, copy) {
    const kept = { was: snapshot(item), copy };
    this.#kept.set(item, kept);
    copy.catch(() => { if (this.#kept.get(item) === kept) this.#kept.delete(item); });
  }
}

/** A deep copy of the containers; what else is in them is not changed in its place. */
function snapshot(value) {
  if (Array.isArray(value)) return value.map(snapshot);
  if (value !== null && typeof value === "object" && [Object.prototype, null].includes(Object.getPrototypeOf(value)))
    return Object.setPrototypeOf(Object.fromEntries(Object.entries(value).map(([key, one]) => [key, snapshot(one)])), Object.getPrototypeOf(value));
  return value;
}

/** A default value for a schema of dynamoose: an ID when an item without one is saved. */
function dynamooseDefault(sequence, options = {}) {
  const [field] = readFields({ ...options, sequence, field: "default" });
  return async () => (await takeIds(field, [undefined]))[0];
}

/** The items with their IDs, in the same order. An item that already had all IDs is returned itself, not a copy. */
async function numberItems(fields, items) {
  const copies = items.map((item) => ({ ...item }));
  const changed = new Set();
  await Promise.all(fields.map(async (field) => {
    const empty = [...items.keys()].filter((place) => isEmpty(valueOf(items[place][field.field], items[place])));
    const ids = empty.length === 0 ? [] : await takeIds(field, empty.map((place) => items[place]));
    empty.forEach((place, index) => {
      copies[place][field.field] = isMarshalled(items[place]) ? marshalled(ids[index]) : ids[index];
      changed.add(place);
    });
  }));
  return items.map((item, place) => (changed.has(place) ? copies[place] : item));
}

// The low-level client has the same middleware, and its items are marshalled: { name: { S: "Ada" } }.
const isMarshalled = (item) => Object.keys(item).length > 0 && Object.values(item).every(isTyped);
const isTyped = (value) => value !== null && typeof value === "object" && Object.keys(value).length === 1 && TYPES.has(Object.keys(value)[0]);
const valueOf = (value, item) => (isMarshalled(item) && value !== undefined ? (value.NULL ? null : Object.values(value)[0]) : value);
const marshalled = (id) => (typeof id === "string" ? { S: id } : { N: String(id) });

/** The input of Put, BatchWrite and TransactWrite with IDs in the items of the table. */
async function numberInput(input, table, kept) {
  const isTable = (name) => name === table || (typeof name === "string" && name.startsWith("arn:") && name.endsWith(`:table/${table}`));
  const isItem = (item) => item !== null && typeof item === "object"; // the SDK refuses others itself
  const changes = []; // [item, what puts its copy into the input]
  const result = { ...input };
  if (isTable(input.TableName) && isItem(input.Item)) changes.push([input.Item, (item) => { result.Item = item; }]);
  for (const [name, requests] of Object.entries(input.RequestItems ?? {})) {
    if (!isTable(name) || !Array.isArray(requests)) continue; // BatchGet has no array
    const copies = requests.map((one) => ({ ...one }));
    result.RequestItems = { ...result.RequestItems, [name]: copies };
    for (const one of copies)
      if (isItem(one.PutRequest?.Item)) changes.push([one.PutRequest.Item, (item) => { one.PutRequest = { ...one.PutRequest, Item: item }; }]);
  }
  if (Array.isArray(input.TransactItems)) {
    result.TransactItems = input.TransactItems.map((one) => ({ ...one }));
    for (const one of result.TransactItems)
      if (isTable(one.Put?.TableName) && isItem(one.Put.Item)) changes.push([one.Put.Item, (item) => { one.Put = { ...one.Put, Item: item }; }]);
  }
  if (changes.length === 0) return input;
  const items = await kept.number(changes.map(([item]) => item));
  changes.forEach(([, put], index) => put(items[index]));
  return result;
}

module.exports = { beforeSave, plugin, dynamooseDefault };
