"use strict";
// Output: the bytes that are to be written next. Requests for single IDs are written directly, as
// they are most of the traffic; all others by the encoder.
const { encode } = require("./values.js");

const SLAB_BYTES = 64 * 1024;
const LONGEST_HEAD = 512;
const MOST_HEADS = 1024;

class Output {
  #slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
  #begin = 0; // of what was not taken yet
  #end = 0;
  #heads = new Map(); // by method and name: the bytes between the number and the time-out

  get size() { return this.#end - this.#begin; }

  /** The bytes since the last call. They are not overwritten. */
  take() {
    const bytes = this.#slab.subarray(this.#begin, this.#end);
    this.#begin = this.#end;
    return bytes;
  }

  drop() { this.#begin = this.#end; }

  /** Drops what was written after the output had `size` bytes. */
  truncate(size) { this.#end = this.#begin + size; }

  ack(below) {
    this.#reserve(16);
    this.#slab.set([0x93, 0x02, 0xa3, 0x61, 0x63, 0x6b, 0x91], this.#end);
    this.#end += 7;
    this.#unsigned(below);
  }

  /** A request with the parameters `[name]` or `[name, {timeout_ms}]`. */
  takeId(method, number, name, timeoutMs) {
    const head = this.#head(method, name, timeoutMs !== undefined);
    if (head === undefined)
      return this.request(method, number, timeoutMs === undefined ? [name] : [name, { timeout_ms: timeoutMs }]);
    this.#reserve(head.length + 16);
    const slab = this.#slab;
    slab[this.#end++] = 0x94;
    slab[this.#end++] = 0x00;
    this.#unsigned(number);
    slab.set(head, this.#end);
    this.#end += head.length;
    if (timeoutMs !== undefined) this.#unsigned(timeoutMs);
  }

  /** Any request; the parameters are prepared ones. */
  request(method, number, params) { this.#append(encode([0, number, method, params])); }

  #head(method, name, withTimeout) {
    if (name.length > LONGEST_HEAD) return undefined;
    const key = (withTimeout ? method + " " : method + "=") + name;
    let head = this.#heads.get(key);
    if (head === undefined) {
      const parts = [Buffer.from(encode(method)), Buffer.of(withTimeout ? 0x92 : 0x91), Buffer.from(encode(name))];
      if (withTimeout) parts.push(Buffer.of(0x81), Buffer.from(encode("timeout_ms")));
      head = Buffer.concat(parts);
      if (this.#heads.size >= MOST_HEADS) this.#heads.clear();
      this.#heads.set(key, head);
    }
    return head;
  }

  #append(bytes) {
    this.#reserve(bytes.length);
    this.#slab.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  #unsigned(value) {
    const slab = this.#slab;
    if (value < 0x80) {
      slab[this.#end++] = value;
    } else if (value < 0x100) {
      slab[this.#end++] = 0xcc;
      slab[this.#end++] = value;
    } else if (value < 0x10000) {
      slab[this.#end++] = 0xcd;
      this.#end = slab.writeUInt16BE(value, this.#end);
    } else {
      slab[this.#end++] = 0xce;
      this.#end = slab.writeUInt32BE(value, this.#end);
    }
  }

  #reserve(more) {
    if (this.#end + more <= this.#slab.length) return;
    const size = this.size;
    // What was taken may still be waiting to be written: it keeps its slab.
    const slab = Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, 2 * (size + more)));
    this.#slab.copy(slab, 0, this.#begin, this.#end);
    this.#slab = slab;
    this.#begin = 0;
    this.#end = size;
  }
}

module.exports = { Output };
