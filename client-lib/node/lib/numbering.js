"use strict";
// Numbering: what the plugins have in common: which fields of a record get an ID of which sequence,
// and taking the IDs for many records at once.
const { defaultClient } = require("./default_client.js");
const { ArgumentError } = require("./errors.js");

const OPTIONS = ["field", "sequence", "text", "bigint", "client"];
const IDS_OF_ONE_REQUEST = 10_000;

const isEmpty = (value) => value === undefined || value === null || value === "";

/** Checks the options of a plugin: one field, or an array of them in `fields`. */
function readFields(options, others = []) {
  if (options === null || typeof options !== "object") throw new ArgumentError("the plugin needs its options: { field, sequence }");
  const { fields, client, ...rest } = options;
  const list = fields === undefined ? [rest] : fields;
  if (!Array.isArray(list) || list.length === 0) throw new ArgumentError("the option fields is an array of { field, sequence }");
  if (fields !== undefined) checkKeys(rest, others);
  return list.map((one) => {
    checkKeys(one, [...OPTIONS, ...(fields === undefined ? others : [])]);
    const { field, sequence, text = false, bigint } = one;
    if (typeof field !== "string" || field === "") throw new ArgumentError("the option field is the name of a field");
    if (typeof sequence !== "function" && (typeof sequence !== "string" || sequence === ""))
      throw new ArgumentError("the option sequence is the name of a sequence, or a function of the record");
    return { field, sequence, text: Boolean(text), bigint, client: one.client ?? client };
  });
}

function checkKeys(options, known) {
  for (const key of Object.keys(options)) if (!known.includes(key)) throw new ArgumentError(`the plugin has no option ${key}`);
}

/** One ID of `field` for each record, in their order. All requests leave in one write. */
async function takeIds(field, records, { bigint = false } = {}) {
  const client = field.client ?? defaultClient();
  const names = await Promise.all(records.map((record) => typeof field.sequence === "function" ? field.sequence(record) : field.sequence));
  const places = new Map(); // of the records of each sequence
  names.forEach((name, place) => {
    if (typeof name !== "string" || name === "") throw new ArgumentError("the function sequence returned no name of a sequence");
    if (!places.has(name)) places.set(name, []);
    places.get(name).push(place);
  });
  const ids = new Array(records.length);
  const options = { bigint: field.bigint ?? bigint };
  await Promise.all([...places].flatMap(([name, all]) => {
    if (field.text) return all.map(async (place) => { ids[place] = await client.nextText(name); });
    const parts = [];
    for (let at = 0; at < all.length; at += IDS_OF_ONE_REQUEST) parts.push(all.slice(at, at + IDS_OF_ONE_REQUEST));
    return parts.map(async (part) => {
      const taken = part.length === 1 ? [await client.next(name, options)] : await client.nextMany(name, part.length, options);
      part.forEach((place, index) => { ids[place] = taken[index]; });
    });
  }));
  return ids;
}

module.exports = { isEmpty, readFields, takeIds };
