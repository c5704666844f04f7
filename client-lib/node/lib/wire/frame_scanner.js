"use strict";
// FrameScanner: finds the end of a MessagePack value in bytes that arrive in pieces, without
// decoding it. It looks at each byte once, however the pieces are cut.

const MAX_BYTES = 16 * 1024 * 1024;
const MAX_DEPTH = 32;

class FrameScanner {
  #at = 0; // the next header, counted from the begin of the message
  #open = []; // values that are still to come, for each level

  reset() {
    this.#at = 0;
    this.#open.length = 0;
  }

  /** The length of the message that begins at `begin`; 0 if it is not whole yet: call again with
   * more bytes of the same message. Throws a RangeError for what is no MessagePack, or above 16 MiB
   * or 32 levels. */
  scan(bytes, begin, end) {
    for (;;) {
      const place = begin + this.#at;
      if (place >= end) return 0;
      const header = this.#header(bytes, place, end);
      if (header === 0) return 0;
      if (this.#at + header + this.length + this.items > MAX_BYTES) throw new RangeError("a message has more than 16 MiB");
      if (place + header + this.length > end) return 0;
      this.#at += header + this.length;
      if (this.items > 0) {
        if (this.#open.length >= MAX_DEPTH) throw new RangeError("a message has more than 32 levels");
        this.#open.push(this.items);
        continue;
      }
      if (this.isContainer && this.#open.length >= MAX_DEPTH) throw new RangeError("a message has more than 32 levels");
      while (this.#open.length > 0 && --this.#open[this.#open.length - 1] === 0) this.#open.pop();
      if (this.#open.length === 0) {
        const size = this.#at;
        this.#at = 0;
        return size;
      }
    }
  }

  // Of the value whose header was read last.
  length = 0; // bytes behind the header that are no values
  items = 0; // values behind the header
  isContainer = false;

  /** The bytes of the header at `place`; 0 if not all of them are there. */
  #header(bytes, place, end) {
    const first = bytes[place];
    this.length = 0;
    this.items = 0;
    this.isContainer = false;
    if (first < 0x80 || first >= 0xe0) return 1;
    if (first < 0xa0) {
      this.isContainer = true;
      this.items = first < 0x90 ? 2 * (first & 0x0f) : first & 0x0f;
      return 1;
    }
    if (first < 0xc0) {
      this.length = first & 0x1f;
      return 1;
    }
    const left = end - place;
    switch (first) {
      case 0xc0: case 0xc2: case 0xc3:
        return 1;
      case 0xc4: case 0xd9: // bin 8, str 8
        if (left < 2) return 0;
        this.length = bytes[place + 1];
        return 2;
      case 0xc5: case 0xda:
        if (left < 3) return 0;
        this.length = bytes.readUInt16BE(place + 1);
        return 3;
      case 0xc6: case 0xdb:
        if (left < 5) return 0;
        this.length = bytes.readUInt32BE(place + 1);
        return 5;
      case 0xc7: // ext 8, 16, 32: a byte for the type
        if (left < 2) return 0;
        this.length = bytes[place + 1] + 1;
        return 2;
      case 0xc8:
        if (left < 3) return 0;
        this.length = bytes.readUInt16BE(place + 1) + 1;
        return 3;
      case 0xc9:
        if (left < 5) return 0;
        this.length = bytes.readUInt32BE(place + 1) + 1;
        return 5;
      case 0xcc: case 0xd0:
        this.length = 1;
        return 1;
      case 0xcd: case 0xd1:
        this.length = 2;
        return 1;
      case 0xca: case 0xce: case 0xd2:
        this.length = 4;
        return 1;
      case 0xcb: case 0xcf: case 0xd3:
        this.length = 8;
        return 1;
      case 0xd4: case 0xd5: case 0xd6: case 0xd7: case 0xd8: // fixext 1, 2, 4, 8, 16
        this.length = (1 << (first - 0xd4)) + 1;
        return 1;
      case 0xdc: case 0xde: // array 16, map 16
        if (left < 3) return 0;
        this.isContainer = true;
        this.items = bytes.readUInt16BE(place + 1) * (first === 0xde ? 2 : 1);
        return 3;
      case 0xdd: case 0xdf:
        if (left < 5) return 0;
        this.isContainer = true;
        this.items = bytes.readUInt32BE(place + 1) * (first === 0xdf ? 2 : 1);
        return 5;
      default:
        throw new RangeError(`the byte 0x${first.toString(16)} begins no value`);
    }
  }
}

module.exports = { FrameScanner };
