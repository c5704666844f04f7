"use strict";
// DynamoDB: new items get an ID of a sequence before they are saved, unless the attribute has a
// value. See types/dynamodb.d.ts.
const { serialize } = require("node:v8");
const { ArgumentError } = require("../errors.js");
const { isEmpty, readFields, takeIds } = require("../numbering.js");

const TYPES = new Set(["S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"]);

function readAttributes(options, others) {
  const fields = readFields(options, others);
  for (const { field } of fields)
    if (field.includes(".")) throw new ArgumentError(`the option field is the name of an attribute of the item: one inside of a map, ${field}, gets no ID`);
  return fields;
}

/** A function for the hook before a save: it gives the item back with its IDs. */
function beforeSave(options) {
  const fields = readAttributes(options);
  return async (item) => (await numberItems(fields, [item]))[0];
}

/** A plugin for the middleware of aws-sdk v3: docClient.middlewareStack.use(plugin(options)). */
function plugin(options) {
  if (typeof options?.table !== "string" || options.table === "") throw new ArgumentError("the option table is the name of a table");
  const fields = readAttributes(options, ["table"]);
  const kept = new WeakMap(); // command: what its input was, and a promise of the command with its IDs
  const number = (next) => async (command) => {
    const { input, items, put } = itemsOf(command.input, options.table);
    if (items.length === 0) return next(command);
    // A command that is sent again, as after an error which leaves open whether the item was written, keeps its IDs.
    const was = bytesOf(command.input);
    let one = kept.get(command);
    if (was === undefined || !one?.was.equals(was)) {
      one = { was, numbered: numberItems(fields, items).then((copies) => { put(copies); return { ...command, input }; }) };
      if (was !== undefined) kept.set(command, one);
    }
    let numbered;
    try {
      numbered = await one.numbered;
    } catch (error) {
      if (kept.get(command) === one) kept.delete(command);
      throw error;
    }
    return next(numbered);
  };
  const name = `seqd ${options.table} ${fields.map(({ field }) => field).join(" ")}`;
  // Before the items are marshalled.
  return { applyToStack(stack) { stack.add(number, { step: "initialize", priority: "high", name }); } };
}

/** Bytes that differ if the input was changed since; undefined if it cannot be serialized, as it has functions. */
function bytesOf(input) {
  try {
    return serialize(input);
  } catch {
    return undefined;
  }
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

// The low-level client has the same middleware, and its items are marshalled: { name: { S: "Ada" } }. It leaves out undefined and null.
function isMarshalled(item) {
  const values = Object.values(item).filter((value) => value !== undefined && value !== null);
  return values.length > 0 && values.every(isTyped);
}
const isTyped = (value) => typeof value === "object" && Object.keys(value).length === 1 && TYPES.has(Object.keys(value)[0]);
const valueOf = (value, item) => (value && isMarshalled(item) ? (value.NULL ? null : Object.values(value)[0]) : value);
const marshalled = (id) => (typeof id === "string" ? { S: id } : { N: String(id) });

/** The items of the table in the input of Put, BatchWrite and TransactWrite; a copy of the input, and what puts others into it. */
function itemsOf(given, table) {
  const isTable = (name) => name === table || (typeof name === "string" && name.startsWith("arn:") && name.endsWith(`:table/${table}`));
  const isItem = (item) => item !== null && typeof item === "object"; // the SDK refuses others itself
  const changes = []; // [item, what puts its copy into the input]
  const input = { ...given };
  if (isTable(given.TableName) && isItem(given.Item)) changes.push([given.Item, (item) => { input.Item = item; }]);
  for (const [name, requests] of Object.entries(given.RequestItems ?? {})) {
    if (!isTable(name) || !Array.isArray(requests)) continue; // BatchGet has no array
    const copies = requests.map((one) => ({ ...one }));
    input.RequestItems = { ...input.RequestItems, [name]: copies };
    for (const one of copies)
      if (isItem(one.PutRequest?.Item)) changes.push([one.PutRequest.Item, (item) => { one.PutRequest = { ...one.PutRequest, Item: item }; }]);
  }
  if (Array.isArray(given.TransactItems)) {
    input.TransactItems = given.TransactItems.map((one) => ({ ...one }));
    for (const one of input.TransactItems)
      if (isTable(one.Put?.TableName) && isItem(one.Put.Item)) changes.push([one.Put.Item, (item) => { one.Put = { ...one.Put, Item: item }; }]);
  }
  return { input, items: changes.map(([item]) => item), put: (items) => changes.forEach(([, set], index) => set(items[index])) };
}

module.exports = { beforeSave, plugin, dynamooseDefault };
