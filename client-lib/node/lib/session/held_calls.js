"use strict";
// HeldCalls: the calls that wait for a range that is being fetched for their sequence (see Ahead). They are no
// requests yet, and have no number; each gets an ID of the range, or becomes a request.

class HeldCalls {
  #byName = new Map(); // sets, in the order of the calls
  size = 0;

  add(request) {
    const [name] = request.params;
    const calls = this.#byName.get(name);
    if (calls === undefined) this.#byName.set(name, new Set([request]));
    else calls.add(request);
    request.isHeld = true;
    ++this.size;
  }

  count(name) { return this.#byName.get(name)?.size ?? 0; }

  /** Takes the first one of that sequence out; undefined: there is none. */
  shift(name) {
    const calls = this.#byName.get(name);
    if (calls === undefined) return undefined;
    const [request] = calls;
    this.remove(request);
    return request;
  }

  remove(request) {
    const [name] = request.params;
    const calls = this.#byName.get(name);
    calls.delete(request);
    if (calls.size === 0) this.#byName.delete(name);
    request.isHeld = false;
    --this.size;
  }

  *[Symbol.iterator]() { for (const calls of this.#byName.values()) yield* calls; }
}

module.exports = { HeldCalls };
