"use strict";
// Ahead: the option `ahead` of a client. IDs come from ranges that were fetched before they are
// asked for: blocks without a page (PROTOCOL.md, section 10). This side alone counts what is taken
// of them, and says it once, when a block is used up, after a rest, and when the client is closed.
//
// Bounded: two blocks of each sequence, of at most MOST_SOURCES sequences; others are requested one
// by one, as are IDs for which no block is there yet, so nobody ever waits for a block.
const { performance } = require("node:perf_hooks");
const { ArgumentError, ProtocolError, SeqdError } = require("./errors.js");
const { toId } = require("./wire/values.js");

const MOST_AHEAD = 1_000_000;
const MOST_SOURCES = 32; // the daemon allows 64 blocks of a client
const REST_MS = 10_000;
const FIRST_PAUSE_MS = 10; // after a block that was refused; then doubling
const LONGEST_PAUSE_MS = 10_000;
const LAST_END_MS = 5_000; // for the end of a block whose reply could not be read

const isInteger = (value) => typeof value === "bigint" || Number.isSafeInteger(value);

/** What the daemon granted, of at most `asked` IDs. */
function readBlock(value, asked) {
  const [first, step, count] = Array.isArray(value) && value.length === 3 ? value : [];
  if (!isInteger(first) || step !== 1 || !Number.isSafeInteger(count) || count < 1 || count > asked)
    throw new ProtocolError("the daemon's block is not [first, 1, count]");
  const isSafe = typeof first === "number" && Number.isSafeInteger(first + count);
  return { first: isSafe ? first : BigInt(first), count, taken: 0, number: 0 };
}

class Ahead {
  #count;
  #post; // sends a request for which nobody waits
  #rest;
  #sources = new Map(); // by the name of the sequence
  #clock;
  #isClosed = false;

  /** `post(request, timeout)` without a time-out repeats the request until it has a reply. */
  constructor(count, post, rest = REST_MS) {
    if (!Number.isSafeInteger(count) || count < 1 || count > MOST_AHEAD)
      throw new ArgumentError(`the option ahead is a number of IDs, 1 .. ${MOST_AHEAD}`);
    this.#count = count;
    this.#post = post;
    this.#rest = rest;
  }

  /** Whether a block is here, so that the connection has to come back. */
  get holds() {
    for (const source of this.#sources.values()) if (source.blocks.length > 0) return true;
    return false;
  }

  /** An ID that is here, or undefined; and requests a block where another one will be needed. */
  take(name, bigint) {
    const source = this.#sources.get(name) ?? this.#add(name);
    if (source === undefined) return undefined;
    source.isUsed = true;
    const block = source.blocks[0];
    let id;
    if (block !== undefined) {
      id = typeof block.first === "bigint" ? block.first + BigInt(block.taken) : block.first + block.taken;
      // Before anything that can throw: an ID is nobody else's from here on.
      ++block.taken;
      if (block.taken === block.count) this.#end(name, source.blocks.shift());
    }
    if (this.#isNeeded(source)) this.#fetch(name, source);
    return id === undefined ? undefined : toId(id, bigint);
  }

  /** The client has another identity: what is here is used up, and nothing can be said of it. */
  renewed() {
    for (const source of this.#sources.values()) for (const block of source.blocks) block.number = 0;
  }

  /** Ends all blocks, and takes nothing any more. */
  close() {
    this.#isClosed = true;
    clearInterval(this.#clock);
    for (const [name, source] of this.#sources) this.#endAll(name, source);
    this.#sources.clear();
  }

  #add(name) {
    if (this.#isClosed || this.#sources.size >= MOST_SOURCES) return undefined;
    const source = { blocks: [], isFetching: false, isUsed: true, notBefore: 0, pause: FIRST_PAUSE_MS };
    this.#sources.set(name, source);
    if (this.#sources.size === 1) {
      this.#clock = setInterval(() => this.#look(), this.#rest);
      this.#clock.unref();
    }
    return source;
  }

  // What was not used since the last look rests.
  #look() {
    for (const [name, source] of this.#sources) {
      if (source.isUsed || source.isFetching) {
        source.isUsed = false;
        continue;
      }
      this.#endAll(name, source);
      this.#sources.delete(name);
    }
    if (this.#sources.size === 0) clearInterval(this.#clock);
  }

  #isNeeded(source) {
    if (source.isFetching || source.blocks.length > 1) return false;
    const [block] = source.blocks;
    if (block !== undefined && block.taken * 2 < block.count) return false;
    return source.notBefore === 0 || performance.now() >= source.notBefore;
  }

  // Behind the request of the caller that found nothing here, in the same write.
  #fetch(name, source) {
    source.isFetching = true;
    process.nextTick(() => this.#isClosed || this.#request(name, source));
  }

  #request(name, source) {
    const request = { method: "block", params: [name, null, this.#count], read: (value) => readBlock(value, this.#count) };
    request.resolve = (block) => {
      source.isFetching = false;
      source.notBefore = 0;
      source.pause = FIRST_PAUSE_MS;
      block.number = request.number;
      // Closed, or forgotten, meanwhile.
      if (this.#sources.get(name) === source) source.blocks.push(block);
      else this.#end(name, block);
    };
    request.reject = (error) => {
      source.isFetching = false;
      const isOver = !(error instanceof SeqdError) || !error.temporary;
      source.notBefore = performance.now() + (isOver ? LONGEST_PAUSE_MS : source.pause);
      source.pause = Math.min(2 * source.pause, LONGEST_PAUSE_MS);
        // It may have been granted; nothing of it was taken.
      if (request.isRefused !== true && request.number !== undefined && !this.#isClosed)
        this.#tell(name, request.number, 0, LAST_END_MS);
    };
    this.#post(request);
  }

  #endAll(name, source) {
    for (const block of source.blocks.splice(0)) this.#end(name, block);
  }

  #end(name, block) {
    if (block.number !== 0) this.#tell(name, block.number, block.taken);
  }

  // Whatever the reply is: the block has ended. NO_BLOCK is a repeat, or it came too late.
  #tell(name, number, taken, timeout) {
    const done = () => {};
    this.#post({ method: "end_block", params: [name, number, taken], read: done, resolve: done, reject: done }, timeout);
  }
}

module.exports = { Ahead };
