"use strict";
// Numbering: what the plugins have in common: which fields of a record get an ID of which sequence,
// and taking the IDs for many records at once.
const { defaultClient } = require("./default_client.js");
const { ArgumentError } = require("./errors.js");

const OPTIONS = ["field", "sequence", "text", "bigint", "client"];
const IDS_OF_ONE_REQUEST = 10_000;
const REQUESTS_AT_A_TIME = 1_000;
// What a template makes of a value that is not there: `tickets.${ticket.tenant}`.
const LACKS_A_VALUE = /(^|[^A-Za-z0-9])(undefined|null|NaN)($|[^A-Za-z0-9])|^\.|\.\.|\.$/;

const isEmpty = (value) => value === undefined || value === null || value === "";

/** Checks the options of a plugin: one field, or an array of them in `fields`. `others` are for all fields, `more`
 * for each of them. */
function readFields(options, others = [], more = []) {
  if (options === null || typeof options !== "object") throw new ArgumentError("the plugin needs its options: { field, sequence }");
  const { fields, client, ...rest } = options;
  const list = fields === undefined ? [rest] : fields;
  if (!Array.isArray(list) || list.length === 0) throw new ArgumentError("the option fields is an array of { field, sequence }");
  if (fields !== undefined) checkKeys(rest, others);
  return list.map((one) => {
    checkKeys(one, [...OPTIONS, ...more, ...(fields === undefined ? others : [])]);
    const { field, sequence, text = false, bigint, register = false } = one;
    if (typeof field !== "string" || field === "") throw new ArgumentError("the option field is the name of a field");
    if (typeof sequence !== "function" && (typeof sequence !== "string" || sequence === ""))
      throw new ArgumentError("the option sequence is the name of a sequence, or a function of the record");
    return { field, sequence, text: Boolean(text), bigint, register: Boolean(register), client: one.client ?? client };
  });
}

function checkKeys(options, known) {
  for (const key of Object.keys(options)) if (!known.includes(key)) throw new ArgumentError(`the plugin has no option ${key}`);
}

async function nameFor(field, record) {
  if (typeof field.sequence !== "function") return field.sequence;
  const name = await field.sequence(record);
  if (typeof name !== "string" || name === "") throw new ArgumentError("the function sequence returned no name of a sequence");
  if (LACKS_A_VALUE.test(name))
    throw new ArgumentError(`the function sequence returned "${name}": the record lacks a value that the name is made of`);
  return name;
}

/** One ID of `field` for each record, in their order. */
async function takeIds(field, records, { bigint = false } = {}) {
  const client = field.client ?? defaultClient();
  const names = await Promise.all(records.map((record) => nameFor(field, record)));
  if (field.register) return assignAll(client, field, records, names, { bigint: field.bigint ?? bigint });
  const places = new Map(); // of the records of each sequence
  names.forEach((name, place) => {
    if (!places.has(name)) places.set(name, []);
    places.get(name).push(place);
  });
  const ids = new Array(records.length);
  const options = { bigint: field.bigint ?? bigint };
  const requests = [];
  for (const [name, all] of places) {
    const size = field.text ? 1 : IDS_OF_ONE_REQUEST;
    for (let at = 0; at < all.length; at += size) {
      const part = all.slice(at, at + size);
      requests.push(async () => {
        const taken = field.text ? [await client.nextText(name)] : await takeMany(client, name, part.length, options);
        part.forEach((place, index) => { ids[place] = taken[index]; });
      });
    }
  }
  await inTurns(requests);
  return ids;
}

/** The number of each record in a register, by its `_id`. */
async function assignAll(client, field, records, names, options) {
  for (const record of records) {
    if (isEmpty(record._id))
      throw new ArgumentError(`${field.field} is a number of a register and belongs to the _id, which is not there yet: make a document of the model, or set its _id, once for all attempts to save it`);
  }
  const ids = new Array(records.length);
  await inTurns(records.map((record, place) => async () => {
    const { number, text } = await client.assign(names[place], record._id, options);
    ids[place] = field.text ? text : number;
  }));
  return ids;
}

/** `count` IDs, by smaller requests if the daemon allows fewer in one (its limit `max_count`). */
async function takeMany(client, name, count, options) {
  if (count === 1) return [await client.next(name, options)];
  const ids = [];
  for (let size = count; ids.length < count;) {
    try {
      ids.push(...await client.nextMany(name, Math.min(size, count - ids.length), options));
    } catch (error) {
      if (error?.code !== "TOO_LARGE" || size === 1) throw error;
      size = Math.ceil(size / 2);
    }
  }
  return ids;
}

/** Carries requests out, as many at a time as the client takes (its option `maxPending`). Nothing is begun
 * after the first error. */
async function inTurns(requests) {
  const waiting = requests.reverse();
  let running = Math.min(waiting.length, REQUESTS_AT_A_TIME);
  const run = async () => {
    for (let request = waiting.pop(); request !== undefined; request = waiting.pop()) {
      try {
        await request();
      } catch (error) {
        if (error?.code === "FULL" && running > 1) {
          waiting.push(request); // the others go on
          break;
        }
        waiting.length = 0;
        throw error;
      }
    }
    --running;
  };
  await Promise.all(Array.from({ length: running }, run));
}

module.exports = { isEmpty, readFields, takeIds };
