"use strict";
// Register: the keys of its numbers, and the records that the daemon has of them.
const { ArgumentError, ProtocolError } = require("./errors.js");
const { shrink, toId } = require("./wire/values.js");

const MOST_BYTES = 256; // of a key, and of a reason
const LATEST_MS = 8_640_000_000_000_000; // that a Date holds
const STATES = ["assigned", "confirmed", "void", "free"];
const CONTROL = /[\0-\x1f\x7f]/; // eslint-disable-line no-control-regex
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

function plainText(value, what) {
  if (typeof value !== "string") throw new ArgumentError(`${what} is a text`);
  const size = Buffer.byteLength(value);
  if (size < 1 || size > MOST_BYTES || CONTROL.test(value) || LONE_SURROGATE.test(value))
    throw new ArgumentError(`${what} has 1 to ${MOST_BYTES} bytes and no control characters`);
  return value;
}

/** What is sent for the key, and the text that the daemon has for it. */
function keyOf(key) {
  if (typeof key === "string") return { sent: plainText(key, "a key"), text: key };
  // The ObjectId and the UUID of bson have their bytes in `id`.
  const bytes = key instanceof Uint8Array ? key : key?.id;
  if (!(bytes instanceof Uint8Array)) throw new ArgumentError("a key is a text, an ObjectId, a UUID, or the bytes of one of these");
  const sent = Buffer.from(bytes);
  const hex = sent.toString("hex");
  if (sent.length === 12) return { sent, text: hex };
  if (sent.length !== 16) throw new ArgumentError("a key of bytes is an ObjectId of 12 or a UUID of 16");
  return { sent, text: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") };
}

function checkNumber(number) {
  const isNumber = typeof number === "bigint" ? number > 0n && number < 2n ** 63n : Number.isSafeInteger(number) && number > 0;
  if (number !== undefined && !isNumber) throw new ArgumentError("the option number is an integer above 0");
  return number;
}

function checkState(state) {
  if (state !== undefined && !STATES.includes(state)) throw new ArgumentError(`the option state is one of ${STATES.join(", ")}`);
  return state;
}

const strange = (what) => new ProtocolError(`the daemon's record ${what}`);
const isMap = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function said(value) {
  if (value !== null && value !== undefined && typeof value !== "string") throw strange("has a text that is none");
  return value ?? null;
}

function readStamp(value) {
  const at = isMap(value) ? shrink(value.at_ms) : undefined;
  if (!Number.isSafeInteger(at) || at < 0 || at > LATEST_MS) throw strange("has no time");
  return { at: new Date(at), by: said(value.by) };
}

function readFormer(value) {
  if (!isMap(value)) throw strange("has a key that is none");
  return { key: said(value.key), assigned: readStamp(value.assigned), cancelled: readStamp(value.cancelled), reason: said(value.reason) };
}

/** A record as the caller gets it. `key`: it belongs to that one. */
function readRecord(value, bigint, key) {
  if (!isMap(value)) throw strange("is not a map");
  const { number, text, state, confirmed, former = [] } = value;
  if (typeof text !== "string" || text === "" || typeof state !== "string" || !Array.isArray(former)) throw strange("has unexpected types");
  const record = {
    number: toId(number, bigint), text, period: said(value.period), state, key: said(value.key), assigned: readStamp(value.assigned),
    confirmed: confirmed === null || confirmed === undefined ? null : readStamp(confirmed), former: former.map(readFormer),
  };
  if (record.number < 1) throw strange("has no number");
  if (key !== undefined && record.key !== key) throw strange("is that of another key");
  return record;
}

/** A page of records behind the number `after`. */
function readPage(value, bigint, after) {
  if (!isMap(value) || !Array.isArray(value.records)) throw strange("is not in a page");
  const following = value.after ?? null;
  if (following !== null && !(toId(following, true) > BigInt(after))) throw strange("is in a page that does not go on");
  return { records: value.records.map((one) => readRecord(one, bigint)), after: following };
}

/** The name for the next page: another period may begin between two pages. */
function samePeriod(name, records) {
  return records.length > 0 && records[0].period !== null && !name.includes("@") ? `${name}@${records[0].period}` : name;
}

module.exports = { checkNumber, checkState, keyOf, plainText, readPage, readRecord, samePeriod };
