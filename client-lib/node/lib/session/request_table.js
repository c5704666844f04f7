"use strict";
// RequestTable: the requests that were sent and have no reply, by number. Numbers rise and are never
// used for another request, so that the daemon can recognize a repeat. A request gets its number when
// it is written, so the window of the session bounds how many numbers are behind the lowest one.

const COMPACT_AT = 1024;

class RequestTable {
  #slots = []; // in the order of their numbers; undefined: it has its reply
  #head = 0; // index of the lowest one without a reply, unless the table is empty
  #base; // number of #slots[0]
  #unsent = 0; // index: none below it is to be sent
  size = 0; // requests without a reply
  sent = 0; // how many of them were sent on this connection and have no reply yet

  constructor(first) { this.#base = first; }

  /** The lowest number without a reply, or the next one: what an `ack` says. */
  get floor() { return this.#base + this.#head; }
  get next() { return this.#base + this.#slots.length; }

  add(request) {
    request.number = this.next;
    request.isSent = false;
    this.#slots.push(request);
    ++this.size;
    return request.number;
  }

  /** The request that this connection owes a reply to, or undefined. */
  findSent(number) {
    const request = this.#slots[number - this.#base];
    return request !== undefined && request.isSent ? request : undefined;
  }

  firstUnsent() {
    const slots = this.#slots;
    while (this.#unsent < slots.length) {
      const request = slots[this.#unsent];
      if (request !== undefined && !request.isSent) return request;
      ++this.#unsent;
    }
    return undefined;
  }

  markSent(request) {
    request.isSent = true;
    ++this.sent;
  }

  /** It is to be sent again on the next connection. */
  markUnsent(request) {
    request.isSent = false;
    --this.sent;
  }

  /** The connection ended: everything is to be sent again. */
  markAllUnsent() {
    for (const request of this) request.isSent = false;
    this.sent = 0;
    this.#unsent = this.#head;
  }

  finish(request) {
    this.#slots[request.number - this.#base] = undefined;
    --this.size;
    if (request.isSent) --this.sent;
    const slots = this.#slots;
    while (this.#head < slots.length && slots[this.#head] === undefined) ++this.#head;
    if (this.#head < COMPACT_AT || this.#head * 2 < slots.length) return;
    slots.splice(0, this.#head);
    this.#base += this.#head;
    this.#unsent = Math.max(0, this.#unsent - this.#head);
    this.#head = 0;
  }

  /** Those without a reply, in order. finish() is allowed meanwhile only for all(). */
  *[Symbol.iterator]() {
    for (let index = this.#head; index < this.#slots.length; ++index)
      if (this.#slots[index] !== undefined) yield this.#slots[index];
  }

  all() { return [...this]; }
}

module.exports = { RequestTable };
