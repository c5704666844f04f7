"use strict";
// RequestQueue: the requests that were never sent, in the order of their coming. They have no number
// yet, so that those which end before a daemon is there take none.

const COMPACT_AT = 1024;

class RequestQueue {
  #places = []; // what is not queued any more is passed over
  #head = 0; // all below it were taken out
  size = 0;

  add(request) {
    request.isQueued = true;
    this.#places.push(request);
    ++this.size;
  }

  /** Takes the first one out; undefined: there is none. */
  shift() {
    const places = this.#places;
    while (this.#head < places.length) {
      const request = places[this.#head];
      places[this.#head++] = undefined;
      if (!request.isQueued) continue;
      request.isQueued = false;
      --this.size;
      if (this.#head >= COMPACT_AT && this.#head * 2 >= places.length) this.#drop();
      return request;
    }
    return undefined;
  }

  /** Takes out one that is queued, wherever it is. */
  remove(request) {
    request.isQueued = false;
    --this.size;
    if (this.#places.length < COMPACT_AT || this.#places.length < 2 * this.size) return;
    this.#drop();
    this.#places = this.#places.filter((one) => one.isQueued);
  }

  #drop() {
    this.#places.splice(0, this.#head);
    this.#head = 0;
  }

  *[Symbol.iterator]() {
    for (let index = this.#head; index < this.#places.length; ++index)
      if (this.#places[index].isQueued) yield this.#places[index];
  }
}

module.exports = { RequestQueue };
