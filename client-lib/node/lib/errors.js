"use strict";
// Errors: one class for each party that can be at fault, and the catalogue of the daemon's codes.

// The codes of PROTOCOL.md section 4: whether the same request can succeed later with nothing
// changed.
const TEMPORARY = new Map(Object.entries({
  BAD_REQUEST: false, NO_METHOD: false, TOO_LARGE: false, NO_SEQUENCE: false, DENIED: false,
  BUSY: true, UNAVAILABLE: true, STOPPING: true, EXHAUSTED: false, SEQ_TYPE: false,
  SEQ_MEANING: false, SEQ_REGRESSED: false, SEQ_CHANGED: false, STORE_REFUSED: false,
  STATE_IO: false, STATE_CORRUPT: false, FENCED: false, CONFIG: false, INTERNAL: false,
  BAD_TEXT: false, WRONG_MODE: false, DOCUMENT_REFUSED: false, OUTCOME_UNKNOWN: false,
  NO_KEY: false, KEY_CONFIRMED: false, SEQ_PERIOD_CLOSED: false,
}));
const KNOWN_CODE = new RegExp(`(?<![A-Za-z0-9_])(${[...TEMPORARY.keys()].join("|")}):\\s?`);

/** Every error of this package except an abort, which rejects with the reason of its signal unless
 * it is an insert that was sent.
 * `code` is for programs, `text` for people, `temporary` is true if the same call can succeed
 * later with nothing changed. */
class SeqdError extends Error {
  constructor(code, text, { temporary = false, cause } = {}) {
    super(text === "" ? code : `${code}: ${text}`, cause === undefined ? undefined : { cause });
    this.code = code;
    this.text = text;
    this.temporary = temporary;
  }
  get name() { return this.constructor.name; }
}

/** The daemon refused the request: it is wrong, or not permitted. */
class RequestError extends SeqdError {}
/** The daemon, its store or its configuration is at fault. */
class DaemonError extends SeqdError {}
/** It is not known whether a document was inserted, or a number cancelled: look for it first. */
class OutcomeUnknownError extends DaemonError {
  constructor(text, options) { super("OUTCOME_UNKNOWN", text, options); }
}
/** No daemon answered at the socket within the time of the call. */
class ConnectError extends SeqdError {
  constructor(text, { temporary = true, cause } = {}) { super("CONNECT", text, { temporary, cause }); }
}
/** The daemon is there and did not reply within the time of the call. */
class TimeoutError extends SeqdError {
  constructor(text) { super("TIMEOUT", text, { temporary: true }); }
}
/** What is at the socket does not speak the protocol. */
class ProtocolError extends SeqdError {
  constructor(text) { super("PROTOCOL", text); }
}
/** The call itself is wrong; nothing was sent. */
class ArgumentError extends SeqdError {
  constructor(text) { super("ARGUMENT", text); }
}
/** The client was closed. */
class ClosedError extends SeqdError {
  constructor(text) { super("CLOSED", text); }
}
/** More calls are waiting than the option `maxPending` allows. */
class FullError extends SeqdError {
  constructor(text) { super("FULL", text, { temporary: true }); }
}
/** IDs were issued that a number cannot hold exactly; `result` has them as BigInt. */
class UnsafeIdError extends SeqdError {
  constructor(result) {
    super("UNSAFE_ID", "the ID is outside of -(2^53-1) .. 2^53-1: use the option bigint: true");
    this.result = result;
  }
}

/** What the error part of a reply means; undefined if it is not of the form [fault, "CODE: text"]. */
function errorOf(error) {
  if (!Array.isArray(error) || error.length !== 2 || typeof error[1] !== "string" ||
      (error[0] !== 0 && error[0] !== 1))
    return undefined;
  const found = KNOWN_CODE.exec(error[1]);
  const code = found ? found[1] : error[0] === 1 ? "BAD_REQUEST" : "INTERNAL";
  const text = found ? error[1].slice(found.index + found[0].length) : error[1];
  if (code === "OUTCOME_UNKNOWN") return new OutcomeUnknownError(text);
  const Kind = error[0] === 1 ? RequestError : DaemonError;
  return new Kind(code, text, { temporary: TEMPORARY.get(code) });
}

module.exports = {
  SeqdError, RequestError, DaemonError, OutcomeUnknownError, ConnectError, TimeoutError,
  ProtocolError, ArgumentError, ClosedError, FullError, UnsafeIdError, errorOf,
};
