"use strict";
// Ahead: the option `ahead` of a client. IDs come from ranges that were fetched before they are
// asked for: blocks without a page (PROTOCOL.md, section 10). This side alone counts what is taken
// of them, and says it once: when a block is used up, when it was kept for long enough, and when the
// client is closed. The age is for those that are in use, too: nothing tells a client that a drain
// or an advance has made a gap of its block.
//
// Bounded: two blocks of each sequence, of at most MOST_SOURCES sequences; others are requested one
// by one, as are IDs for which no block is there yet, so nobody ever waits for a block.
const { performance } = require("node:perf_hooks");
const { ArgumentError, ProtocolError, SeqdError } = require("./errors.js");
const { toId } = require("./wire/values.js");

const MOST_AHEAD = 1_000_000;
const MOST_SOURCES = 32; // the daemon allows 64 blocks of a client
const LONGEST_NAME = 128; // no sequence has a longer one
const MOST_REFUSED = 1024; // names; all are forgotten when there are more
const KEEP_MS = 10_000; // no block for longer (PROTOCOL.md, section 10)
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
  return { first: isSafe ? first : BigInt(first), count, taken: 0, number: 0, since: 0 };
}

class Ahead {
  #count;
  #post; // sends a request for which nobody waits
  #keep;
  #sources = new Map(); // by the name of the sequence
  #refused = new Map(); // names of sequences that get no blocks, and until when they are not asked for again
  #requests = new Set(); // for blocks, without a reply yet
  #clock;
  #isPaused = false; // until the client has another identity
  #isClosed = false;

  /** `post(request, timeout)` without a time-out repeats the request until it has a reply. No block
   * is kept for more than `keep` ms. */
  constructor(count, post, keep = KEEP_MS) {
    if (!Number.isSafeInteger(count) || count < 1 || count > MOST_AHEAD)
      throw new ArgumentError(`the option ahead is a number of IDs, 1 .. ${MOST_AHEAD}`);
    this.#count = count;
    this.#post = post;
    this.#keep = keep;
  }

  /** Whether a block is here, so that the connection has to come back. */
  get holds() {
    for (const source of this.#sources.values()) if (source.blocks.length > 0) return true;
    return false;
  }

  /** An ID that is here, or undefined; and requests a block where another one will be needed. The
   * first ID of a sequence may be the only one: there is no block for it. */
  take(name, bigint) {
    if (this.#isPaused) return undefined;
    const source = this.#sources.get(name);
    if (source === undefined) return this.#add(name);
    source.isUsed = true;
    this.#endOlder(name, source, this.#keep); // the clock is late in a process that stood still
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

  /** Ends all blocks and takes nothing before resume(): the client is to have another identity, and
   * a block is known by the present one only. Whether there were any. */
  pause() {
    this.#isPaused = true;
    const { holds } = this;
    for (const [name, source] of this.#sources) this.#endAll(name, source);
    return holds;
  }

  resume() { this.#isPaused = false; }

  /** Ends all blocks, and takes nothing any more. */
  close() {
    this.#isClosed = true;
    clearInterval(this.#clock);
    for (const [name, source] of this.#sources) this.#endAll(name, source);
    this.#sources.clear();
  }

  /** After close(), when no reply is awaited any more: ends what may still be granted. */
  giveUp() {
    for (const { number, params: [name] } of this.#requests) if (number !== undefined) this.#tell(name, number, 0);
    this.#requests.clear();
  }

  #add(name) {
    if (this.#isClosed || this.#sources.size >= MOST_SOURCES || name.length > LONGEST_NAME) return;
    if (performance.now() < this.#refused.get(name)) return;
    this.#sources.set(name, { blocks: [], isFetching: false, isUsed: true, notBefore: 0, pause: FIRST_PAUSE_MS });
    if (this.#sources.size > 1) return;
    clearInterval(this.#clock);
    this.#clock = setInterval(() => this.#look(), this.#keep / 2);
    this.#clock.unref();
  }

  // What is half as old as a block may be would be too old at the next look. What was not used since
  // the last one rests.
  #look() {
    for (const [name, source] of this.#sources) {
      this.#endOlder(name, source, this.#keep / 2);
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
    process.nextTick(() => {
      if (this.#isPaused) source.isFetching = false;
      else if (!this.#isClosed) this.#request(name, source);
    });
  }

  #request(name, source) {
    const request = { method: "block", params: [name, null, this.#count], read: (value) => readBlock(value, this.#count) };
    // It is not granted before.
    const since = performance.now();
    this.#requests.add(request);
    request.resolve = (block) => {
      this.#requests.delete(request);
      source.isFetching = false;
      source.notBefore = 0;
      source.pause = FIRST_PAUSE_MS;
      block.number = request.number;
      block.since = since;
      // Closed meanwhile, or the reply was long in coming.
      if (!this.#isClosed && performance.now() - since < this.#keep) source.blocks.push(block);
      else this.#end(name, block);
    };
    request.reject = (error) => {
      this.#requests.delete(request);
      source.isFetching = false;
      const isOver = !(error instanceof SeqdError) || !error.temporary;
      source.notBefore = performance.now() + (isOver ? LONGEST_PAUSE_MS : source.pause);
      if (isOver && source.blocks.length === 0) this.#refuse(name, source);
      source.pause = Math.min(2 * source.pause, LONGEST_PAUSE_MS);
      // It may have been granted; nothing of it was taken.
      if (request.isRefused !== true && request.number !== undefined && !this.#isClosed)
        this.#tell(name, request.number, 0, LAST_END_MS);
    };
    this.#post(request);
  }

  #refuse(name, { notBefore }) {
    this.#sources.delete(name);
    if (this.#refused.size >= MOST_REFUSED) this.#refused.clear();
    this.#refused.set(name, notBefore);
  }

  #endOlder(name, { blocks }, age) {
    while (blocks.length > 0 && performance.now() - blocks[0].since >= age) this.#end(name, blocks.shift());
  }

  #endAll(name, source) {
    for (const block of source.blocks.splice(0)) this.#end(name, block);
  }

  #end(name, block) { this.#tell(name, block.number, block.taken); }

  // Whatever the reply is: the block has ended. NO_BLOCK is a repeat, or it came too late.
  #tell(name, number, taken, timeout) {
    const done = () => {};
    this.#post({ method: "end_block", params: [name, number, taken], isEnd: true, read: done, resolve: done, reject: done }, timeout);
  }
}

module.exports = { Ahead };
