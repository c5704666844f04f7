"use strict";
// DynamoDB: new items get an ID of a sequence before they are saved, unless the attribute has a
// value. See types/dynamodb.d.ts.
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
  return {
    applyToStack(stack) {
      const number = (next) => async (args) => next({ ...args, input: await numberInput(args.input, options.table, fields) });
      // Before the items are marshalled.
      stack.add(number, { step: "initialize", priority: "high", name: `seqd ${options.table} ${fields.map(({ field }) => field).join(" ")}` });
    },
  };
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
async function numberInput(input, table, fields) {
  const puts = [];
  if (input.TableName === table && input.Item !== undefined) puts.push(input.Item);
  const batch = (input.RequestItems?.[table] ?? []);
  if (Array.isArray(batch)) for (const { PutRequest } of batch) if (PutRequest !== undefined) puts.push(PutRequest.Item);
  const isPut = (one) => one.Put !== undefined && one.Put.TableName === table;
  for (const one of input.TransactItems ?? []) if (isPut(one)) puts.push(one.Put.Item);
  if (puts.length === 0) return input;
  const items = await numberItems(fields, puts);
  const result = { ...input };
  let at = 0;
  if (input.TableName === table && input.Item !== undefined) result.Item = items[at++];
  if (Array.isArray(batch) && batch.length > 0) {
    const requests = batch.map((one) => (one.PutRequest === undefined ? one : { ...one, PutRequest: { ...one.PutRequest, Item: items[at++] } }));
    result.RequestItems = { ...input.RequestItems, [table]: requests };
  }
  if (input.TransactItems !== undefined)
    result.TransactItems = input.TransactItems.map((one) => (isPut(one) ? { ...one, Put: { ...one.Put, Item: items[at++] } } : one));
  return result;
}

module.exports = { beforeSave, plugin, dynamooseDefault };
