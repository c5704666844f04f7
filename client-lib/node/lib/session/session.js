"use strict";
// Session: section 5 of PROTOCOL.md without a socket: what to write, and what the replies mean. It
// numbers requests, says hello, acknowledges, and repeats on the next connection what has no reply.
//
// Invariant: a number is sent for one request only, and only after the hello of its connection was
// answered.
const { randomBytes } = require("node:crypto");
const {
  ConnectError, OutcomeUnknownError, ProtocolError, RequestError, SeqdError, TimeoutError, errorOf,
} = require("../errors.js");
const { Output } = require("../wire/output.js");
const { ReplyReader } = require("../wire/reply_reader.js");
const { depthOf, shrink } = require("../wire/values.js");
const { HeldCalls } = require("./held_calls.js");
const { RequestQueue } = require("./request_queue.js");
const { RequestTable } = require("./request_table.js");

const ACKNOWLEDGE_EVERY = 8;
const HELLO_NUMBER = 0; // never a request number
const OUTPUT_BYTES = 64 * 1024; // enough for one write
const ASSUMED_WINDOW = 1024;
const MOST_LATE = 65_536;
const LONGEST_WAIT_MS = 3_600_000;
// From `renew` on there is a new identity when nothing is in flight; from `last` on requests wait for that.
const NUMBERS = { first: 1, renew: 0xfff00000, last: 0xffffff00 };

/** The daemon gives up a little before the caller does, so that no ID is issued that arrives too
 * late, and the caller gets the daemon's reason. */
function waitWithin(leftMs) {
  const left = Math.max(0, Math.floor(leftMs));
  return Math.min(LONGEST_WAIT_MS, Math.max(0, left - Math.floor(left / 10) - (left < 10 ? 1 : 0)));
}

class Session {
  #numbers;
  #table;
  #queue = new RequestQueue();
  #identity; // drawn when first needed, so that a snapshot of the heap has none
  #name;
  #output = new Output();
  #reader = new ReplyReader();

  // Of this connection.
  #ready = false;
  #stopping = false; // the daemon said STOPPING: nothing more is sent here
  #late = new Set(); // sent and given up; the reply is still to come
  #acknowledged = 0; // below: said on this connection
  #answered = 0; // since the last acknowledgement
  #window = ASSUMED_WINDOW; // numbers that the daemon remembers behind the acknowledged one
  #frame = Infinity; // bytes of a request
  #depth = Infinity; // levels of a request
  #connection; // the text for `insert`

  /** Whether this connection has answered a request. */
  proved = false;
  /** How many have answered a hello. */
  connections = 0;
  /** Calls that become requests with release(). */
  held = new HeldCalls();

  constructor({ name, numbers = NUMBERS }) {
    this.#name = name;
    this.#numbers = numbers;
    this.#table = new RequestTable(numbers.first);
  }

  get pending() { return this.#table.size + this.held.size + this.#queue.size; }
  get ready() { return this.#ready; }
  /** No connection is of use any more: so many replies were given up. */
  get isHopeless() { return this.#late.size >= MOST_LATE; }
  /** The numbers come to their end: the connection has to end, and renew() follows. */
  get wantsIdentity() { return this.#table.next >= this.#numbers.renew && this.#table.size === 0; }
  /** Replies were not acknowledged, and nothing is in flight. */
  get owesAcknowledgement() {
    return this.#ready && this.#table.size === 0 && this.#table.floor - this.#acknowledged > ACKNOWLEDGE_EVERY;
  }

  // --- requests

  submit(request) {
    request.isSent = false;
    request.perhaps = false; // it was sent on a connection that ended
    (request.isHeld === true ? this.held : this.#queue).add(request);
  }

  /** The calls that were held for that sequence are requests now. */
  release(name) { while (this.held.count(name) > 0) this.#queue.add(this.held.shift(name)); }

  /** The caller does not wait any more, because of `error`; returns its error. If the request was
   * sent, its reply is dropped when it comes. */
  abandon(request, error) {
    const why = this.whyGivenUp(request, error);
    if (request.isSent) this.#late.add(request.number);
    this.#remove(request);
    return why;
  }

  /** The error for a request that is given up: the one it is given up for, which may be any reason of a
   * signal, unless what its `doubt` says may have happened. */
  whyGivenUp(request, error) {
    const mayHave = request.doubt !== undefined && (request.isSent || request.perhaps);
    return mayHave ? new OutcomeUnknownError(`${request.doubt}: ${textOf(error)}`, { cause: error }) : error;
  }

  /** Gives up what is over its deadline; the earliest deadline that is left, or Infinity. */
  expire(now, unreachable) {
    let earliest = Infinity;
    const over = [];
    for (const requests of [this.#table, this.held, this.#queue]) {
      for (const request of requests) {
        if (request.deadline <= now) over.push(request);
        else if (request.deadline < earliest) earliest = request.deadline;
      }
    }
    for (const request of over) {
      const error = this.#ready ? new TimeoutError(`the daemon did not reply within ${request.timeout} ms`) : unreachable();
      request.reject(this.abandon(request, error));
    }
    return earliest;
  }

  failAll(error) {
    for (const request of [...this.#table, ...this.held, ...this.#queue]) {
      const why = this.whyGivenUp(request, error);
      this.#remove(request);
      request.reject(why);
    }
  }

  renew() {
    this.#identity = undefined;
    this.#table = new RequestTable(1);
  }

  #remove(request) {
    if (request.number !== undefined) this.#table.finish(request);
    else (request.isHeld === true ? this.held : this.#queue).remove(request);
  }

  // --- to the daemon

  connected() {
    this.#identity ??= randomBytes(16);
    const options = { client: this.#identity };
    if (this.#name !== undefined) options.name = this.#name;
    this.#output.request("hello", HELLO_NUMBER, [options]);
  }

  disconnected() {
    for (const request of this.#table.all()) {
      if (request.doubt !== undefined && request.isSent) {
        request.perhaps = true;
        if (request.isOnce) {
          this.#table.finish(request);
          request.reject(new OutcomeUnknownError(`the connection to the daemon was lost: ${request.doubt}`));
        }
      }
    }
    this.#table.markAllUnsent();
    this.#output.drop();
    this.#reader.reset();
    this.#late.clear();
    this.#ready = false;
    this.#stopping = false;
    this.proved = false;
  }

  /** Bytes to write now; more may follow when these are written. */
  output(now) {
    if (this.#ready && !this.#stopping) this.#fill(now);
    return this.#output.take();
  }

  /** As before closing, or when no request follows. */
  acknowledge() {
    if (!this.#ready || this.#table.floor === this.#acknowledged) return;
    this.#acknowledged = this.#table.floor;
    this.#answered = 0;
    this.#output.ack(this.#acknowledged);
  }

  /** The last output of a connection that is closed. Requests that wait stay where they are. */
  lastWords() {
    this.acknowledge();
    return this.#output.take();
  }

  #fill(now) {
    for (;;) {
      const repeat = this.#table.firstUnsent();
      if (repeat === undefined) break;
      if (!this.#hasRoom(repeat.number)) return;
      this.#write(repeat, now);
    }
    while (this.#queue.size > 0 && this.#table.next < this.#numbers.last && this.#hasRoom(this.#table.next)) {
      const request = this.#queue.shift();
      this.#table.add(request);
      this.#write(request, now);
    }
  }

  /** Whether the request `number` can be written now. Acknowledges before the window closes, too: the
   * daemon counts from the last acknowledgement that it has seen. */
  #hasRoom(number) {
    if (this.#output.size >= OUTPUT_BYTES || number - this.#table.floor >= this.#window) return false;
    if (this.#answered >= ACKNOWLEDGE_EVERY || number - this.#acknowledged >= Math.min(this.#window, ASSUMED_WINDOW) / 2)
      this.acknowledge();
    return true;
  }

  #write(request, now) {
    const { method, number, params } = request;
    const before = this.#output.size;
    try {
      if (request.isFast) {
        this.#output.takeId(method, number, params[0], waitWithin(request.deadline - now));
      } else if (depthOf(params) >= this.#depth) { // the message itself is a level, too
        throw new RequestError("BAD_REQUEST", `a request has at most ${this.#depth} levels of arrays and maps`);
      } else if (request.insert !== undefined) {
        const options = { timeout_ms: waitWithin(request.deadline - now), connection: this.#connection };
        if (request.insert.unique !== undefined) options.unique = request.insert.unique;
        this.#output.request(method, number, [...params, options]);
      } else {
        this.#output.request(method, number, request.waits ? [...params, { ...request.options, timeout_ms: waitWithin(request.deadline - now) }] : params);
      }
      const size = this.#output.size - before;
      // The daemon would refuse these two as well, and close the connection of all other requests.
      if (size > this.#frame) throw new RequestError("TOO_LARGE", `a request has at most ${this.#frame} bytes (this one: ${size})`);
    } catch (error) {
      this.#output.truncate(before);
      this.#table.finish(request);
      request.reject(this.whyGivenUp(request, error));
      return;
    }
    this.#table.markSent(request);
  }

  // --- from the daemon

  /** Takes bytes of the stream. undefined, or the SeqdError because of which this connection has
   * to end: if it is temporary, connect again. */
  receive(chunk) {
    let verdict;
    try {
      this.#reader.read(chunk, (reply) => {
        if (reply.number < 0) return true;
        if (!this.#ready) verdict = this.#takeHello(reply);
        else verdict = this.#takeReply(reply);
        return verdict === undefined;
      });
    } catch (error) {
      verdict = error;
    }
    return verdict;
  }

  #takeReply(reply) {
    const request = this.#table.findSent(reply.number);
    if (request === undefined) return this.#takeLate(reply);
    const error = reply.error === null ? undefined : errorOf(reply.error);
    if (reply.error !== null && error === undefined) return new ProtocolError("the daemon's error is not [0 or 1, text]");
    if (error !== undefined && error.code === "STOPPING") {
      this.#stopping = true;
      if (request.isOnce && request.insert === undefined) { // unlike an insert, it may have been carried out
        const why = this.whyGivenUp(request, error);
        this.#table.finish(request);
        request.reject(why);
      } else {
        this.#table.markUnsent(request);
      }
      return this.#afterReply(error);
    }
    this.proved = true;
    ++this.#answered;
    // Perhaps too much is kept for the clients of this user: the part of this one can go.
    if (error !== undefined && error.code === "BUSY") this.#answered = ACKNOWLEDGE_EVERY;
    let result;
    let failure = error;
    if (error === undefined) {
      try {
        result = request.read(reply.result);
      } catch (unreadable) {
        if (!(unreadable instanceof SeqdError) || unreadable instanceof ProtocolError) return unreadable;
        failure = unreadable;
      }
    } else if (request.perhaps && error.code !== "DOCUMENT_REFUSED") {
      // A refusal now proves nothing about an earlier attempt.
      failure = this.whyGivenUp(request, error);
    }
    this.#table.finish(request);
    if (failure === undefined) request.resolve(result);
    else request.reject(failure);
    return this.#afterReply();
  }

  // A daemon that stops still owes the replies to what it took; only then is there another one.
  #afterReply(error) {
    return this.#stopping && this.#table.sent === 0 ? error ?? new ConnectError("the daemon is stopping") : undefined;
  }

  #takeLate(reply) {
    if (this.#late.delete(reply.number)) return undefined;
    const error = reply.error === null ? undefined : errorOf(reply.error);
    // What the daemon could not read at all is answered with number 0.
    if (reply.number === 0 && error !== undefined) return new ProtocolError(`the daemon cannot read what this client sends: ${error.message}`);
    return new ProtocolError(`the daemon sent a reply without a request, number ${reply.number}`);
  }

  #takeHello(reply) {
    if (reply.number !== HELLO_NUMBER) return new ProtocolError("the daemon answered another request before the hello");
    if (reply.error !== null) return errorOf(reply.error) ?? new ProtocolError("the daemon's error is not [0 or 1, text]");
    const hello = shrink(reply.result);
    if (hello === null || typeof hello !== "object" || hello.protocol !== 1)
      return new ProtocolError("the daemon does not speak version 1 of the protocol");
    const limit = (name, otherwise) => {
      const value = hello.limits?.[name];
      return Number.isSafeInteger(value) && value > 0 ? value : otherwise;
    };
    this.#window = limit("unacknowledged", ASSUMED_WINDOW);
    this.#frame = limit("frame", Infinity);
    this.#depth = limit("depth", Infinity);
    this.#connection = typeof hello.connection === "string" ? hello.connection : undefined;
    this.#ready = true;
    ++this.connections;
    // A daemon that does not know this identity has to learn the floor before any other request.
    this.#acknowledged = 0;
    this.acknowledge();
    return undefined;
  }
}

/** The text of the reason that a signal was aborted with, which may be a symbol or an object without a text. */
function textOf(reason) {
  try {
    return String(reason?.message ?? reason);
  } catch {
    return "the call was aborted";
  }
}

module.exports = { Session };
