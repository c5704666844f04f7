"use strict";
// Calls: the methods of the daemon. A client is one; client.with(options) makes another one on the
// same connection.
const { ArgumentError, ProtocolError } = require("./errors.js");
const { checkNumber, checkState, keyOf, plainText, readPage, readRecord, samePeriod } = require("./register.js");
const { idsOf, prepare, shrink, toId, toRuns } = require("./wire/values.js");

const MOST_IDS = 10_000_000; // of one range, by the protocol
const LONGEST_TIMEOUT_MS = 3_600_000;
const OPTIONS = new Set(["timeout", "signal", "bigint"]);
// The client sends these itself, with what makes them safe to repeat.
const OWN = new Map([["hello", "the client says hello itself"], ["ack", "the client acknowledges itself"], ["insert", "use insert()"],
  ["cancel", "use cancel()"]]);

const readId = (value) => toId(value, false);
const readBigId = (value) => toId(value, true);

function readText(value) {
  if (typeof value !== "string" || value === "") throw new ProtocolError("the daemon's text is not a text");
  return value;
}

function readMap(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new ProtocolError("the daemon's result is not a map");
  return value;
}

/** The options of a call, where `options` goes before `defaults`. Throws an ArgumentError. */
function mergeOptions(defaults, options = {}) {
  if (options === null || typeof options !== "object") throw new ArgumentError("the options are not an object");
  for (const key of Object.keys(options)) if (!OPTIONS.has(key)) throw new ArgumentError(`there is no option ${key} of a call`);
  const { timeout = defaults.timeout, signal = defaults.signal, bigint = defaults.bigint } = options;
  if (typeof timeout !== "number" || !(timeout > 0 && timeout <= LONGEST_TIMEOUT_MS))
    throw new ArgumentError(`the option timeout is above 0 and at most ${LONGEST_TIMEOUT_MS} milliseconds`);
  // Not instanceof: the signal may come from another realm.
  if (signal !== undefined && (typeof signal?.aborted !== "boolean" || typeof signal.addEventListener !== "function"))
    throw new ArgumentError("the option signal is not an AbortSignal");
  return { timeout, signal, bigint: Boolean(bigint) };
}

class Calls {
  #core;
  #defaults;

  constructor(core, defaults) {
    this.#core = core;
    this.#defaults = defaults;
  }

  with(options) { return new Calls(this.#core, this.#merge(options)); }

  next(name, options) { return this.#takeId("next", name, options, undefined); }

  nextText(name, options) { return this.#takeId("next_text", name, options, readText); }

  range(name, count, options) { return this.#range(name, count, options, (runs) => runs); }

  nextMany(name, count, options) { return this.#range(name, count, options, idsOf); }

  parse(name, text, options) {
    return this.#look("parse", [name, text], options, (value, bigint) => {
      const parsed = shrink(readMap(value));
      parsed.number = toId(parsed.number, bigint);
      return parsed;
    });
  }

  peek(name, options) {
    return this.#look("peek", [name], options, (value, bigint) => {
      const { next, last, ...others } = readMap(value);
      const id = (one) => (one === null ? null : toId(one, bigint));
      return { ...shrink(others), next: id(next), last: id(last) };
    });
  }

  status(options) { return this.#look("status", [], options, (value) => shrink(readMap(value))); }

  insert(name, document, options = {}) {
    try {
      const { unique, ...others } = options;
      const settings = this.#merge(others);
      if (unique !== undefined && typeof unique !== "string") throw new ArgumentError("the option unique is the name of a field");
      if (document === null || typeof document !== "object" || Array.isArray(document)) throw new ArgumentError("the document is not an object");
      const params = [this.#name(name), prepare(document, "the document")];
      const read = settings.bigint ? readBigId : readId;
      const request = { method: "insert", params, insert: { unique }, doubt: "the document may have been inserted", isOnce: unique === undefined };
      return this.#core.submit({ ...request, read }, settings);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  assign(name, key, options) { return this.#ofKey("assign", name, key, [], options); }

  confirm(name, key, options) { return this.#ofKey("confirm", name, key, [], options); }

  cancel(name, key, reason, options) { return this.#ofKey("cancel", name, key, [reason], options); }

  async *records(name, options = {}) {
    const { state, ...others } = options;
    const settings = this.#merge(others);
    const asked = { after: 0 };
    if (checkState(state) !== undefined) asked.state = state;
    for (let place = this.#name(name); asked.after !== null;) {
      const params = prepare([place, { ...asked }], "params");
      const read = (value) => readPage(value, settings.bigint, asked.after);
      const { records, after } = await this.#core.submit({ method: "records", params, read }, settings);
      yield* records;
      place = samePeriod(place, records);
      asked.after = after;
    }
  }

  call(method, ...params) {
    try {
      if (typeof method !== "string") throw new ArgumentError("the method is not a text");
      if (OWN.has(method)) throw new ArgumentError(`${method}: ${OWN.get(method)}`);
      return this.#core.submit({ method, params: prepare(params, "params"), read: shrink }, this.#defaults);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #ofKey(method, name, key, reasons, options = {}) {
    try {
      const { number, ...others } = options;
      const settings = this.#merge(method === "assign" ? options : others);
      const { sent, text } = keyOf(key);
      const params = [this.#name(name), sent, ...reasons.map((reason) => plainText(reason, "the reason of a cancel"))];
      const isCancel = method === "cancel";
      const read = (value) => readRecord(value, settings.bigint, isCancel ? undefined : text);
      const request = { method, params, waits: true, options: prepare({ number: checkNumber(number) }, "options"), read };
      // A repeat could cancel the next number of the key.
      if (isCancel && number === undefined) Object.assign(request, { doubt: "the number may have been cancelled", isOnce: true });
      return this.#core.submit(request, settings);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #takeId(method, name, options, read) {
    try {
      const settings = options === undefined ? this.#defaults : this.#merge(options);
      const request = { method, params: [this.#name(name)], isFast: true, read: read ?? (settings.bigint ? readBigId : readId) };
      if (method === "next" && this.#mayTakeAhead(settings)) {
        const id = this.#core.ahead.take(name, settings.bigint);
        if (id !== undefined) return Promise.resolve(id);
        request.isHeld = this.#core.ahead.isFetching(name);
      }
      return this.#core.submit(request, settings);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  // A call that is refused takes nothing.
  #mayTakeAhead({ signal }) {
    return this.#core.ahead !== undefined && !this.#core.isClosing && !(signal !== undefined && signal.aborted);
  }

  #range(name, count, options, finish) {
    try {
      const settings = this.#merge(options);
      if (!Number.isSafeInteger(count) || count < 1 || count > MOST_IDS) throw new ArgumentError(`the count is an integer of 1 .. ${MOST_IDS}`);
      const read = (value) => finish(toRuns(value, count, settings.bigint));
      return this.#core.submit({ method: "range", params: [this.#name(name), count], waits: true, read }, settings);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #look(method, params, options, read) {
    try {
      const settings = this.#merge(options);
      for (const param of params) this.#name(param);
      return this.#core.submit({ method, params, read: (value) => read(value, settings.bigint) }, settings);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #name(name) {
    if (typeof name !== "string") throw new ArgumentError("the name of a sequence is a text");
    return name;
  }

  #merge(options) { return mergeOptions(this.#defaults, options); }
}

module.exports = { Calls, mergeOptions };
