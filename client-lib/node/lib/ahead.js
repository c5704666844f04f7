"use strict";
// Ahead: the option `ahead` of a client. IDs come from ranges that were fetched before the calls, by requests of
// the method `range`: what is fetched is issued, whether a call gets it or not. Such a range is of what can be
// issued at once (`at_most`), so it keeps no ID from others and says nothing of the sequence. A call that finds
// nothing waits for the range that is being fetched.
//
// A range of a period could be given to calls after the period's end, so sequences with periods have none: `list`
// shows the period in the name. A sequence gets periods by a restart of the daemon only, so one that had none
// needs no other look on that connection.
//
// Bounded: `ahead` IDs of each sequence and one for each call that gave up while it waited, of the first
// MOST_SOURCES sequences; IDs of others are requested one by one.
const { performance } = require("node:perf_hooks");
const { ArgumentError, ProtocolError, SeqdError, UnsafeIdError } = require("./errors.js");
const { toId, toRuns } = require("./wire/values.js");

const MOST_AHEAD = 1_000_000;
const MOST_SOURCES = 1024;
const LONGEST_NAME = 128; // no sequence has a longer one
const FIRST_PAUSE_MS = 10; // after a range that was refused; then doubling
const LONGEST_PAUSE_MS = 10_000;

/** Runs of at most `count` IDs, of numbers where these can hold all of them, else of BigInt. */
function readRuns(value, count) {
  try {
    return toRuns(value, count, false, true);
  } catch (error) {
    if (error instanceof UnsafeIdError) return error.result;
    throw error;
  }
}

/** Whether that row of `list` is of a sequence in use, without periods. */
function readIsPlain(rows, name) {
  if (!Array.isArray(rows) || rows.length !== 1) throw new ProtocolError("the daemon's list of one name is not one row");
  return rows[0]?.name === name;
}

/** The IDs of one sequence. */
class Source {
  #runs = []; // in the order of issue
  size = 0; // IDs that were fetched and that no call has
  fetched; // runs that are of a period, perhaps
  isShort = false; // the daemon had no more when they were fetched
  isFetching = false; // until calls may have the range
  isLooking = false; // whether the sequence has periods
  plainOn; // the connection on which it had none
  notBefore = 0;
  pause = FIRST_PAUSE_MS;

  get isBusy() { return this.size > 0 || this.isFetching || this.isLooking; }

  admit() {
    for (const run of this.fetched) {
      this.#runs.push(run);
      this.size += run.count;
    }
    this.fetched = undefined;
    this.isFetching = false;
    this.pause = FIRST_PAUSE_MS;
  }

  /** The next ID, or undefined. */
  take() {
    const [run] = this.#runs;
    if (run === undefined) return undefined;
    const id = run.first;
    run.first += run.step;
    --this.size;
    if (--run.count === 0) this.#runs.shift();
    return id;
  }

  /** Nothing is fetched for a while. What was fetched waits for another look. */
  rest(pause) {
    this.isFetching = false;
    this.isLooking = false;
    this.notBefore = performance.now() + pause;
  }

  /** It is of a period, perhaps. */
  drop() {
    this.#runs = [];
    this.size = 0;
    this.fetched = undefined;
  }
}

class Ahead {
  #count;
  #session;
  #post; // sends a request for which no call waits
  #sources = new Map(); // by the name of the sequence
  #keepUntil = 0; // no source is forgotten before

  constructor(count, session, post) {
    if (!Number.isSafeInteger(count) || count < 1 || count > MOST_AHEAD)
      throw new ArgumentError(`the option ahead is a number of IDs, 1 .. ${MOST_AHEAD}`);
    this.#count = count;
    this.#session = session;
    this.#post = post;
  }

  /** An ID that is here, or undefined; and fetches others where few are left. The first ID of a sequence may be
   * the only one: nothing is fetched for it. */
  take(name, bigint) {
    const source = this.#sources.get(name);
    if (source === undefined) return this.#add(name);
    const id = source.take();
    if (2 * source.size <= this.#count) this.#fetch(name, source);
    return id === undefined ? undefined : toId(id, bigint);
  }

  /** Whether a call that found nothing waits for what is being fetched. */
  isFetching(name) { return this.#sources.get(name)?.isFetching === true; }

  /** Fetches only what calls wait for. */
  close() { this.#count = 0; }

  #add(name) {
    if (this.#sources.size >= MOST_SOURCES) this.#forgetIdle();
    if (this.#sources.size < MOST_SOURCES && name.length <= LONGEST_NAME) this.#sources.set(name, new Source());
  }

  // Not for each of many names: that would forget each before its second call.
  #forgetIdle() {
    const now = performance.now();
    if (now < this.#keepUntil) return;
    this.#keepUntil = now + LONGEST_PAUSE_MS;
    for (const [name, source] of this.#sources) if (!source.isBusy) this.#sources.delete(name);
  }

  #fetch(name, source) {
    if (source.isFetching || source.isLooking || performance.now() < source.notBefore) return;
    if (source.plainOn !== this.#session.connections) return this.#look(name, source);
    source.isFetching = true;
    // When all calls of this turn are there, which the range is for, too.
    process.nextTick(() => this.#request(name, source));
  }

  #request(name, source) {
    const count = this.#count - source.size + this.#session.held.count(name);
    if (count <= 0) {
      source.isFetching = false;
      return;
    }
    this.#post({
      method: "range",
      params: [name, count, { at_most: true }],
      read: (value) => readRuns(value, count),
      resolve: (runs) => {
        source.fetched = runs;
        source.isShort = runs.reduce((sum, run) => sum + run.count, 0) < count;
        this.#admit(name, source);
      },
      reject: (error) => this.#failed(name, source, error),
    });
  }

  #look(name, source) {
    source.isLooking = true;
    this.#post({
      method: "list",
      params: [name],
      read: (rows) => readIsPlain(rows, name),
      resolve: (isPlain) => {
        if (!isPlain) {
          source.drop();
          return this.#giveUp(name, source, LONGEST_PAUSE_MS);
        }
        source.isLooking = false;
        source.plainOn = this.#session.connections;
        if (source.fetched !== undefined) this.#admit(name, source);
      },
      reject: (error) => this.#failed(name, source, error),
    });
  }

  // A request that was repeated may have been carried out by a daemon with another configuration.
  #admit(name, source) {
    if (source.plainOn !== this.#session.connections) return this.#look(name, source);
    source.admit();
    const { held } = this.#session;
    while (source.size > 0 && held.count(name) > 0) {
      const call = held.shift(name);
      try {
        call.resolve(call.read(source.take()));
      } catch (error) {
        call.reject(error);
      }
    }
    if (held.count(name) === 0) return;
    // Requests wait in the daemon for what it does not have; else more calls came than the range had IDs.
    if (source.isShort) this.#session.release(name);
    else this.#fetch(name, source);
  }

  #failed(name, source, error) {
    const isOver = !(error instanceof SeqdError) || !error.temporary;
    if (isOver) source.fetched = undefined;
    this.#giveUp(name, source, isOver ? LONGEST_PAUSE_MS : source.pause);
    source.pause = Math.min(2 * source.pause, LONGEST_PAUSE_MS);
  }

  /** What calls wait for becomes a request for each of them. */
  #giveUp(name, source, pause) {
    source.rest(pause);
    this.#session.release(name);
  }
}

module.exports = { Ahead };
