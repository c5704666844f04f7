"use strict";
// Values between JavaScript and MessagePack: which can be sent, and integers of 64 bits.
const { Decoder, Encoder } = require("@msgpack/msgpack");
const { ArgumentError, ProtocolError, UnsafeIdError } = require("../errors.js");

const MAX_DEPTH = 32;
const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;

const encoder = new Encoder({ useBigInt64: true, ignoreUndefined: true });
const decoder = new Decoder({ useBigInt64: true });

/** A copy that the encoder writes as it is meant: every integer as an integer. Throws an
 * ArgumentError that names the first value that MessagePack does not have. */
function prepare(value, place, depth = 0) {
  if (depth > MAX_DEPTH) throw new ArgumentError(`${place} is nested deeper than ${MAX_DEPTH} levels`);
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value;
    case "number":
      // The encoder writes integers beyond 32 bits as floating point, unless they are BigInt.
      return Number.isSafeInteger(value) && (value > 0xffffffff || value < -0x80000000) ? BigInt(value) : value;
    case "bigint":
      if (value < MIN_INT64 || value > MAX_UINT64) throw new ArgumentError(`${place} has more than 64 bits`);
      // Small ones would be written in 9 bytes.
      return value >= -0x80000000n && value <= 0xffffffffn ? Number(value) : value;
    case "object":
      break;
    default:
      throw new ArgumentError(`${place} is a ${typeof value}`);
  }
  if (value === null || value instanceof Uint8Array) return value;
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new ArgumentError(`${place} is not a valid date`);
    return value;
  }
  if (Array.isArray(value)) return value.map((item, index) => prepare(item, `${place}[${index}]`, depth + 1));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    throw new ArgumentError(`${place} is of the class ${value.constructor?.name}: convert it to a plain value`);
  const copy = {};
  for (const key of Object.keys(value)) {
    // Assigned as a property of its own, also if it is "__proto__".
    Object.defineProperty(copy, key, {
      value: prepare(value[key], `${place}.${key}`, depth + 1), enumerable: true, configurable: true, writable: true,
    });
  }
  return copy;
}

/** The levels of arrays and maps of a prepared value. */
function depthOf(value) {
  if (value === null || typeof value !== "object" || value instanceof Uint8Array || value instanceof Date) return 0;
  return 1 + Object.values(value).reduce((most, item) => Math.max(most, depthOf(item)), 0);
}

/** The bytes of a prepared value, valid until the next call. */
const encode = (value) => encoder.encodeSharedRef(value);
/** The value of the bytes, which it may refer to. Integers of 64 bits are BigInt. */
const decode = (bytes) => decoder.decode(bytes);

const isSafe = (id) => id >= Number.MIN_SAFE_INTEGER && id <= Number.MAX_SAFE_INTEGER;
const isInteger = (value) => typeof value === "bigint" || Number.isSafeInteger(value);

/** An ID as the caller wants it. Throws an UnsafeIdError if a number cannot hold it. */
function toId(value, bigint) {
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new ProtocolError("the daemon's ID is not an integer");
    return bigint ? BigInt(value) : value;
  }
  if (typeof value !== "bigint") throw new ProtocolError("the daemon's ID is not an integer");
  if (bigint) return value;
  if (!isSafe(value)) throw new UnsafeIdError(value);
  return Number(value);
}

/** Runs with the types that the caller wants; `count` is always a number. */
function toRuns(value, wanted, bigint, atMost = false) {
  if (!Array.isArray(value)) throw new ProtocolError("the daemon's range is not an array");
  let total = 0;
  let safe = true;
  const runs = value.map((run) => {
    if (!Array.isArray(run) || run.length !== 3 || !run.every(isInteger)) throw new ProtocolError("a run is not three integers");
    const [first, count, step] = run;
    if (!(count >= 1 && count <= wanted) || (count > 1 && Number(step) === 0)) throw new ProtocolError("a run has an impossible count or step");
    total += Number(count);
    const last = BigInt(first) + BigInt(step) * BigInt(Number(count) - 1);
    safe = safe && isSafe(first) && isSafe(last);
    return { first: BigInt(first), count: Number(count), step: BigInt(step) };
  });
  if (atMost ? total < 1 || total > wanted : total !== wanted) throw new ProtocolError(`the daemon's range has ${total} IDs instead of ${wanted}`);
  if (bigint) return runs;
  if (!safe) throw new UnsafeIdError(runs);
  return runs.map((run) => ({ first: Number(run.first), count: run.count, step: Number(run.step) }));
}

/** The IDs of runs, in the order of issue. */
function idsOf(runs) {
  const ids = [];
  for (const { first, count, step } of runs) {
    let id = first;
    for (let left = count; left > 0; --left, id += step) ids.push(id);
  }
  return ids;
}

/** Every BigInt that a number can hold becomes one. */
function shrink(value) {
  if (typeof value === "bigint") return isSafe(value) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(shrink);
  if (value === null || typeof value !== "object" || Object.getPrototypeOf(value) !== Object.prototype) return value;
  for (const key of Object.keys(value)) value[key] = shrink(value[key]);
  return value;
}

module.exports = { prepare, depthOf, encode, decode, toId, toRuns, idsOf, shrink };
