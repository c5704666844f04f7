"use strict";
// Client: the socket and the clock of a Session. It connects when the first request comes, and
// again, with a growing delay, while requests wait.
const net = require("node:net");
const { performance } = require("node:perf_hooks");
const { ArgumentError, ClosedError, ConnectError, FullError } = require("./errors.js");
const { Ahead } = require("./ahead.js");
const { Calls, mergeOptions } = require("./calls.js");
const { Session } = require("./session/session.js");

const DEFAULT_SOCKET = "/run/seqd.sock";
const DEFAULT_TIMEOUT_MS = 5_000;
const LONGEST_PATH = 107;
const LONGEST_NAME = 64;
const LONGEST_DELAY_MS = 100;
const LONGEST_IDLE_DELAY_MS = 1_000; // where no call waits
const DEFAULT_MAX_PENDING = 100_000;
const LOOKED_AT_IN_A_MS = 1_000; // waiting requests, for their deadlines
const LAST_WRITE_MS = 1_000; // for what is still to be written when a client is closed
const HELLO_MS = 10_000; // a daemon that starts is slow to answer hello; without an answer, the connection is closed
const READ_BYTES = 64 * 1024;
const UNWRITTEN_BYTES = 256 * 1024; // nothing is added to more than that
// The daemon comes back from these by itself: it restarts, or its queue is full.
const PASSING = new Set(["ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE", "EAGAIN", "EINTR"]);
const SHORTAGE = new Set(["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS"]); // others may end it: the next call can succeed

function socketPath(given) {
  const path = given || process.env.SEQD_SOCKET || DEFAULT_SOCKET;
  if (typeof path !== "string" || path.includes("\0")) throw new ArgumentError("the option socket is not a path");
  if (Buffer.byteLength(path) > LONGEST_PATH) throw new ArgumentError(`the path of the socket has more than ${LONGEST_PATH} bytes`);
  return path;
}

/** The connection of a client, shared by all its views. */
class Core {
  #path;
  #maxPending;
  #session;
  #socket;
  #isOpen = false;
  #attempts = 0; // since the last one that led to a reply
  #retry; // timer of the next attempt to connect
  #isRetryFar = false; // it was set when no call waited
  #whyNot = "there was no time to connect";
  #helloTimeout;
  #greeting; // timer of the hello
  #clock; // timer of the earliest deadline; it keeps the process alive while requests wait
  #clockAt = Infinity;
  #isFlushDue = false;
  #isAckDue = false;
  #signals = new WeakMap(); // the requests of each AbortSignal: one listener for all of them
  #closing; // of close(): its promise and what fulfils it
  #posted = 0; // requests of the client's own, for which no call waits

  /** The IDs that are fetched ahead, or undefined. */
  ahead;

  constructor(options) {
    const { socket, name, maxPending = DEFAULT_MAX_PENDING, ahead = 0, numbers, helloTimeout = HELLO_MS } = options;
    this.#path = socketPath(socket);
    if (name !== undefined && (typeof name !== "string" || Buffer.byteLength(name) > LONGEST_NAME))
      throw new ArgumentError(`the option name is a text of at most ${LONGEST_NAME} bytes`);
    if (!Number.isSafeInteger(maxPending) || maxPending < 1) throw new ArgumentError("the option maxPending is a positive integer");
    this.#maxPending = maxPending;
    this.#helloTimeout = helloTimeout; // another one in tests, as numbers
    this.#session = new Session({ name, numbers });
    if (ahead !== 0) this.ahead = new Ahead(ahead, this.#session, (request) => this.#post(request));
  }

  get pending() { return this.#session.pending - this.#posted; }
  get isClosing() { return this.#closing !== undefined; }

  /** Sends a request; a promise of what `request.read` makes of its result. */
  submit(request, { timeout, signal }) {
    return new Promise((resolve, reject) => {
      if (this.#closing !== undefined) return reject(new ClosedError("the client was closed"));
      if (signal !== undefined && signal.aborted) return reject(signal.reason);
      if (this.pending >= this.#maxPending)
        return reject(new FullError(`more than ${this.#maxPending} calls are waiting (maxPending)`));
      request.timeout = timeout;
      request.deadline = performance.now() + timeout;
      request.resolve = resolve;
      request.reject = reject;
      if (signal !== undefined) this.#listen(signal, request);
      if (this.#session.wantsIdentity) this.#renew();
      this.#session.submit(request);
      this.#watch(request.deadline);
      this.#flushSoon();
    });
  }

  /** Sends a request for which no call waits: it keeps no process alive, and is repeated until it has
   * a reply. `request.resolve` and `reject` are called at once, not by a promise. */
  #post(request) {
    request.deadline = Infinity;
    for (const end of ["resolve", "reject"]) {
      const call = request[end];
      request[end] = (value) => {
        --this.#posted;
        call(value);
      };
    }
    ++this.#posted;
    this.#session.submit(request);
    this.#flushSoon();
  }

  // --- writing

  // All calls of one turn of the event loop leave in one write.
  #flushSoon() {
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    process.nextTick(() => {
      this.#isFlushDue = false;
      this.#flush();
    });
  }

  #flush() {
    if (this.#socket === undefined) {
      if (this.#retry === undefined ? this.#session.pending > 0 : this.#isRetryFar && this.pending > 0) this.#connect();
      return;
    }
    while (this.#isOpen && this.#socket.writableLength < UNWRITTEN_BYTES) {
      const bytes = this.#session.output(performance.now());
      if (bytes.length === 0) return;
      this.#socket.write(bytes);
    }
  }

  // A burst is over and no request follows that would carry the acknowledgement.
  #acknowledgeSoon() {
    if (this.#isAckDue || !this.#session.owesAcknowledgement) return;
    this.#isAckDue = true;
    setImmediate(() => {
      this.#isAckDue = false;
      if (!this.#isOpen || !this.#session.owesAcknowledgement) return;
      this.#session.acknowledge();
      this.#flush();
    });
  }

  // --- the connection

  #connect() {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    const socket = net.connect({
      path: this.#path,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (size, buffer) => {
          if (socket === this.#socket) this.#receive(buffer.subarray(0, size));
          return true;
        },
      },
    });
    this.#socket = socket;
    let failure;
    socket.unref(); // the clock keeps the process alive
    socket.on("connect", () => {
      if (socket !== this.#socket) return;
      this.#isOpen = true;
      this.#greeting = setTimeout(() => this.#lose("it accepts connections but does not reply"), this.#helloTimeout);
      this.#greeting.unref();
      this.#session.connected();
      this.#flush();
    });
    socket.on("drain", () => this.#flush());
    socket.on("error", (error) => { failure = error; });
    socket.on("end", () => socket.destroy());
    socket.on("close", () => {
      if (socket !== this.#socket) return;
      if (failure !== undefined && !this.#isOpen && !PASSING.has(failure.code)) {
        const temporary = SHORTAGE.has(failure.code);
        return this.#refuse(new ConnectError(`cannot connect to ${this.#path}: ${failure.message}`, { temporary, cause: failure }));
      }
      this.#lose(failure === undefined ? "the daemon closed the connection" : failure.message);
    });
  }

  #receive(bytes) {
    const trouble = this.#session.receive(bytes);
    if (this.#session.ready) clearTimeout(this.#greeting);
    if (this.#session.proved) this.#attempts = 0;
    if (trouble !== undefined) {
      return trouble.temporary ? this.#lose(trouble.message) : this.#refuse(trouble);
    }
    this.#settled();
    // The hello was answered, or the window has moved.
    if (this.#session.pending > 0) this.#flushSoon();
  }

  /** Ends the connection without a last output. */
  #drop() {
    this.#detach()?.destroy();
    this.#settled();
  }

  /** This client has no connection any more; the socket that it had, or undefined. */
  #detach() {
    const socket = this.#socket;
    clearTimeout(this.#greeting);
    this.#socket = undefined;
    this.#isOpen = false;
    this.#session.disconnected();
    return socket;
  }

  /** The same when what was written still has to arrive. Fulfils `closed`. */
  #leave(closed) {
    const isOpen = this.#isOpen;
    if (isOpen) {
      const bytes = this.#session.lastWords();
      if (bytes.length > 0) this.#socket.write(bytes);
    }
    const socket = this.#detach();
    if (socket === undefined) return closed();
    if (!isOpen) {
      socket.once("close", closed);
      socket.destroy();
      return;
    }
    // Not the other side's end, which may be far off: only that what was written is in the kernel.
    const clock = setTimeout(() => socket.destroy(), LAST_WRITE_MS);
    socket.once("close", () => {
      clearTimeout(clock);
      closed();
    });
    socket.end(() => socket.destroy());
  }

  #lose(why) {
    this.#whyNot = why;
    this.#drop();
    this.#retryLater();
  }

  /** The calls that wait end with an error that does not pass by itself. */
  #refuse(error) {
    this.#drop();
    this.#session.failAll(error);
    this.#settled();
  }

  #retryLater() {
    if (this.#session.pending === 0 || this.#retry !== undefined) return;
    // At once, then after 1 ms doubling to 100 ms, each between half and the whole of it.
    this.#isRetryFar = this.pending === 0;
    const longest = this.#isRetryFar ? LONGEST_IDLE_DELAY_MS : LONGEST_DELAY_MS;
    const delay = this.#attempts === 0 ? 0 : Math.min(2 ** (this.#attempts - 1), longest) * (1 - Math.random() / 2);
    ++this.#attempts;
    this.#retry = setTimeout(() => this.#session.pending > 0 ? this.#connect() : (this.#retry = undefined), delay);
    this.#retry.unref();
  }

  #renew() {
    this.#leave(() => {});
    this.#session.renew();
  }

  // --- time

  #watch(deadline) {
    if (deadline >= this.#clockAt) {
      this.#clock.ref();
      return;
    }
    clearTimeout(this.#clock);
    this.#clockAt = deadline;
    this.#clock = setTimeout(() => this.#expire(), Math.ceil(deadline - performance.now()));
  }

  #expire() {
    this.#clockAt = Infinity;
    const earliest = this.#session.expire(performance.now(), () => {
      const why = this.#isOpen ? "it accepts connections but does not reply" : this.#whyNot;
      return new ConnectError(`no daemon answers at ${this.#path}: ${why}`);
    });
    // Each look costs as much as there are requests: with many of them it is worth less often.
    if (earliest !== Infinity) this.#watch(Math.max(earliest, performance.now() + this.#session.pending / LOOKED_AT_IN_A_MS));
    if (this.#session.isHopeless) this.#lose("the daemon does not reply");
    this.#settled();
  }

  #listen(signal, request) {
    let requests = this.#signals.get(signal);
    if (requests === undefined) {
      requests = new Set();
      this.#signals.set(signal, requests);
      signal.addEventListener("abort", () => {
        for (const one of requests) {
          one.reject(this.#session.abandon(one, signal.reason));
        }
        this.#settled();
      }, { once: true });
    }
    requests.add(request);
    const { resolve, reject } = request;
    request.resolve = (value) => { requests.delete(request); resolve(value); };
    request.reject = (error) => { requests.delete(request); reject(error); };
  }

  // --- the end

  /** Requests may have ended. */
  #settled() {
    const waits = this.#session.pending > 0;
    if (this.#session.wantsIdentity && (waits || this.#closing === undefined)) {
      this.#renew();
      this.#flushSoon();
    }
    if (this.pending > 0) return;
    this.#clock?.unref();
    if (this.#closing !== undefined) return this.#end();
    if (!waits) this.#acknowledgeSoon();
  }

  /** No further calls; fulfilled when all that wait have ended and the socket is closed. */
  close() {
    if (this.#closing === undefined) {
      this.#closing = {};
      this.#closing.promise = new Promise((resolve) => { this.#closing.resolve = resolve; });
      this.ahead?.close();
      this.#settled();
    }
    return this.#closing.promise;
  }

  /** The same at once: calls that wait are rejected. */
  destroy() {
    const closed = this.close();
    this.#session.failAll(new ClosedError("the client was closed"));
    this.#settled();
    return closed;
  }

  #end() {
    if (this.#closing.hasEnded) return;
    this.#closing.hasEnded = true;
    clearTimeout(this.#clock);
    clearTimeout(this.#retry);
    this.#socket?.ref();
    this.#leave(this.#closing.resolve);
  }
}

/** One client of the daemon; see index.d.ts. Many callers share it. */
class Client extends Calls {
  #core;

  constructor(options = {}) {
    const { timeout, bigint } = options;
    const core = new Core(options);
    super(core, mergeOptions({ timeout: DEFAULT_TIMEOUT_MS, bigint: false }, { timeout, bigint }));
    this.#core = core;
  }

  get pending() { return this.#core.pending; }
  close() { return this.#core.close(); }
  destroy() { return this.#core.destroy(); }
}
if (Symbol.asyncDispose !== undefined)
  Object.defineProperty(Client.prototype, Symbol.asyncDispose, { value() { return this.close(); } });

module.exports = { Client };
