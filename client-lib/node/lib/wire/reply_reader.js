"use strict";
// ReplyReader: bytes of the stream in, replies out.
const { ProtocolError } = require("../errors.js");
const { FrameScanner } = require("./frame_scanner.js");
const { decode } = require("./values.js");

const SMALL_BYTES = 64 * 1024;

class ReplyReader {
  #scanner = new FrameScanner();
  #kept = Buffer.alloc(0); // room for the begin of a message whose rest is still to come
  #size = 0; // of what is kept in it

  // Of the reply that was read last. Integers of 64 bits are BigInt.
  number = 0;
  error = null;
  result = undefined;

  reset() {
    this.#scanner.reset();
    this.#kept = Buffer.alloc(0);
    this.#size = 0;
  }

  /** Calls `take(this)` for each reply until it returns false. Keeps nothing of `chunk`. Throws a
   * ProtocolError for everything that is not a reply. */
  read(chunk, take) {
    const continued = this.#size > 0;
    let bytes = chunk;
    let end = chunk.length;
    if (continued) {
      this.#keep(chunk, 0, chunk.length);
      bytes = this.#kept;
      end = this.#size;
    }
    let begin = 0;
    while (begin < end) {
      const size = this.#message(bytes, begin, end);
      if (size === 0) break;
      begin += size;
      if (!take(this)) return;
    }
    if (!continued) {
      if (begin < end) this.#keep(bytes, begin, end);
    } else if (begin > 0) {
      this.#kept.copyWithin(0, begin, end);
      this.#size = end - begin;
      if (this.#size === 0 && this.#kept.length > SMALL_BYTES) this.#kept = Buffer.alloc(0);
    }
  }

  #keep(bytes, begin, end) {
    const size = this.#size + end - begin;
    if (size > this.#kept.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(1024, 2 * size));
      this.#kept.copy(room, 0, 0, this.#size);
      this.#kept = room;
    }
    bytes.copy(this.#kept, this.#size, begin, end);
    this.#size = size;
  }

  /** Reads one message; its length, or 0 if it is not whole. */
  #message(bytes, begin, end) {
    const fast = this.#id(bytes, begin, end);
    if (fast > 0) {
      this.#scanner.reset(); // it may have seen a part
      return fast;
    }
    let size;
    let message;
    try {
      size = this.#scanner.scan(bytes, begin, end);
      if (size === 0) return 0;
      // Copied: what is decoded may refer to the bytes, and those are overwritten by the next read.
      message = decode(new Uint8Array(bytes.subarray(begin, begin + size)));
    } catch (error) {
      throw new ProtocolError(`the daemon's bytes cannot be read: ${error.message}`);
    }
    // Notifications are reserved for later versions of the daemon.
    if (Array.isArray(message) && message.length === 3 && message[0] === 2) {
      this.number = -1;
      return size;
    }
    if (!Array.isArray(message) || message.length !== 4 || message[0] !== 1 ||
        !Number.isInteger(message[1]) || message[1] < 0)
      throw new ProtocolError("the daemon's message is not a reply");
    if (message[2] !== null && message[3] !== null) throw new ProtocolError("the daemon's reply has an error and a result");
    this.number = message[1];
    this.error = message[2];
    this.result = message[3];
    return size;
  }

  /** The same for the reply `[1, number, nil, ID]` with an ID of up to 32 bits, which nearly all
   * replies are; 0 if it is another one. */
  #id(bytes, begin, end) {
    if (end - begin < 5 || bytes[begin] !== 0x94 || bytes[begin + 1] !== 0x01) return 0;
    let at = begin + 2;
    let width = widthOf(bytes[at]);
    if (width < 0 || at + width + 2 >= end) return 0;
    const number = unsigned(bytes, at, width);
    at += 1 + width;
    if (bytes[at++] !== 0xc0) return 0;
    width = widthOf(bytes[at]);
    if (width < 0 || at + width >= end) return 0;
    this.number = number;
    this.error = null;
    this.result = unsigned(bytes, at, width);
    return at + 1 + width - begin;
  }
}

/** Bytes behind the first one of an unsigned integer of up to 32 bits; -1 for all else. */
function widthOf(first) {
  if (first < 0x80) return 0;
  if (first === 0xcd) return 2;
  if (first === 0xce) return 4;
  return first === 0xcc ? 1 : -1;
}

function unsigned(bytes, at, width) {
  switch (width) {
    case 0: return bytes[at];
    case 1: return bytes[at + 1];
    case 2: return (bytes[at + 1] << 8) | bytes[at + 2];
    default: return bytes[at + 1] * 0x1000000 + ((bytes[at + 2] << 16) | (bytes[at + 3] << 8) | bytes[at + 4]);
  }
}

module.exports = { ReplyReader };
