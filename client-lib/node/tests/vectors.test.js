"use strict";
// protocol/vectors.json: what a client has to understand and should write.
const { test, describe } = require("node:test");
const assert = require("node:assert/strict");
const path = require("node:path");
const { errorOf } = require("../lib/errors.js");
const { FrameScanner } = require("../lib/wire/frame_scanner.js");
const { Output } = require("../lib/wire/output.js");
const { ReplyReader } = require("../lib/wire/reply_reader.js");
const { shrink, toRuns } = require("../lib/wire/values.js");
const { PROJECT } = require("./support/daemon.js");

const vectors = require(path.join(PROJECT, "protocol/vectors.json"));

function fromJson(value) {
  if (Array.isArray(value)) return value.map(fromJson);
  if (value === null || typeof value !== "object") return value;
  if ("integer" in value) return BigInt(value.integer);
  if ("bin" in value) return Buffer.from(value.bin, "hex");
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, fromJson(one)]));
}

function read(pieces) {
  const reader = new ReplyReader();
  const replies = [];
  for (const piece of pieces) {
    const bytes = Buffer.from(piece); // overwritten as soon as it was read
    reader.read(bytes, ({ number, error, result }) => replies.push({ number, error, result }));
    bytes.fill(0xc1);
  }
  return replies;
}

describe("replies", () => {
  for (const { name, hex, expect } of vectors.replies) {
    test(name, () => {
      const bytes = Buffer.from(hex, "hex");
      const singly = [...bytes].map((byte) => Buffer.of(byte));
      for (const pieces of [[bytes], singly]) {
        const replies = read(pieces);
        assert.equal(replies.length, 1);
        const { number, error, result } = replies[0];
        assert.equal(number, expect.msgid);
        if (expect.error === undefined) {
          assert.equal(error, null);
          assert.deepEqual(shrink(result), fromJson(expect.result));
        } else {
          const { code, text, constructor } = errorOf(error);
          assert.deepEqual({ code, text }, { code: expect.error.code, text: expect.error.text });
          assert.equal(constructor.name, expect.error.fault === 1 ? "RequestError" : "DaemonError");
        }
        if (expect.runs) {
          const runs = toRuns(result, result.reduce((sum, run) => sum + Number(run[1]), 0), false);
          assert.deepEqual(runs.map(({ first, count, step }) => [first, count, step]), fromJson(expect.result));
        }
      }
    });
  }

  test("many in one piece, cut at every place", () => {
    const bytes = Buffer.concat(vectors.replies.map(({ hex }) => Buffer.from(hex, "hex")));
    const whole = read([bytes]);
    assert.equal(whole.length, vectors.replies.length);
    for (let cut = 1; cut < bytes.length; ++cut) assert.deepEqual(read([bytes.subarray(0, cut), bytes.subarray(cut)]), whole);
  });
});

describe("encode", () => {
  for (const { name, hex, write } of vectors.encode) {
    test(name, () => {
      const output = new Output();
      switch (write.kind) {
        case "next":
        case "next_text":
          output.takeId(write.kind, write.msgid, write.name, write.timeout_ms);
          break;
        case "range":
          output.request("range", write.msgid, [write.name, write.count, ...(write.timeout_ms === undefined ? [] : [{ timeout_ms: write.timeout_ms }])]);
          break;
        case "hello": {
          const options = {};
          if (write.client !== undefined) options.client = Buffer.from(write.client, "hex");
          if (write.client_name !== undefined) options.name = write.client_name;
          output.request("hello", write.msgid, [options]);
          break;
        }
        case "peek":
          output.request("peek", write.msgid, [write.name]);
          break;
        case "ack":
          output.ack(write.below);
          break;
        case "call":
          output.request(write.method, write.msgid, []);
          break;
        default:
          assert.fail(`a new kind of vector: ${write.kind}`);
      }
      assert.equal(output.take().toString("hex"), hex);
    });
  }
});

describe("frames", () => {
  for (const { name, hex } of vectors.requests) {
    test(`whole: ${name}`, () => {
      const bytes = Buffer.from(hex, "hex");
      const scanner = new FrameScanner();
      for (let end = 0; end < bytes.length; ++end) assert.equal(scanner.scan(bytes, 0, end), 0);
      assert.equal(scanner.scan(bytes, 0, bytes.length), bytes.length);
    });
  }
  for (const { name, hex } of vectors.incomplete) {
    test(`incomplete: ${name}`, () => {
      const bytes = Buffer.from(hex, "hex");
      assert.equal(new FrameScanner().scan(bytes, 0, bytes.length), 0);
    });
  }
  // None of these is a reply either.
  for (const { name, hex } of vectors.bad_frames) {
    test(`no reply: ${name}`, () => {
      let replies = [];
      try {
        replies = read([Buffer.from(hex, "hex")]);
      } catch (error) {
        assert.equal(error.code, "PROTOCOL");
      }
      assert.deepEqual(replies.filter(({ number }) => number >= 0), []);
    });
  }
  test("limits of a reply: 16 MiB and 32 levels", () => {
    const nested = (levels) => Buffer.from("91".repeat(levels - 1) + "90", "hex");
    assert.equal(new FrameScanner().scan(nested(32), 0, 32), 32);
    assert.throws(() => new FrameScanner().scan(nested(33), 0, 33), RangeError);
    const long = (bytes) => { const header = Buffer.of(0xc6, 0, 0, 0, 0); header.writeUInt32BE(bytes - 5, 1); return header; };
    assert.equal(new FrameScanner().scan(long(2 ** 24), 0, 5), 0);
    assert.throws(() => new FrameScanner().scan(long(2 ** 24 + 1), 0, 5), RangeError);
  });
});
