"use strict";
// Many calls: at a time, and one after the other.
const { test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const { execFile } = require("node:child_process");
const path = require("node:path");
const v8 = require("node:v8");
const vm = require("node:vm");
const { Daemon, startDaemon } = require("./support/daemon.js");
const { finish } = require("./support/waiting.js");

const CALLS = Number(process.env.CALLS ?? 1_000_000);
const ROUNDS = 10;
const MEMORY_MS = 600_000;
let daemon;

before(async () => { daemon = await new Daemon({ sequences: { invoices: { format: "INV-{number:9}" }, "*": {} } }).start(); });
after(() => daemon?.close());

test("10,000 calls in flight", async () => {
  const client = daemon.client();
  for (let round = 0; round < 3; ++round) {
    const ids = await Promise.all(Array.from({ length: 10_000 }, () => client.next("many")));
    assert.deepEqual(ids, Array.from({ length: 10_000 }, (_, index) => round * 10_000 + index + 1));
  }
  await client.close();
});

test("100,000 calls in flight are more than the daemon remembers", async () => {
  const client = daemon.client();
  const ids = await Promise.all(Array.from({ length: 100_000 }, () => client.next("more")));
  assert.deepEqual(ids, Array.from({ length: 100_000 }, (_, index) => index + 1));
  await client.close();
});

test("the daemon is away, and a range waits for it: nothing is kept of calls that have ended", { timeout: MEMORY_MS }, async (t) => {
  v8.setFlagsFromString("--expose-gc");
  const gc = vm.runInNewContext("gc");
  const own = await startDaemon((end) => t.after(end));
  const client = own.client({ ahead: 10 });
  t.after(() => client.destroy());
  for (let at = 0; at < 1_000; ++at) await client.next("orders");
  await own.kill();
  const bytes = [];
  for (let round = 0; round < ROUNDS; ++round) {
    for (let left = CALLS / ROUNDS; left > 0; left -= 1_000) {
      const abort = new AbortController();
      const calls = Array.from({ length: 1_000 }, () => client.next("orders", { signal: abort.signal }).catch(() => {}));
      abort.abort();
      await Promise.all(calls);
    }
    gc();
    bytes.push(process.memoryUsage().heapUsed);
  }
  t.diagnostic(`bytes after each round: ${bytes.join(" ")}`);
  const grown = Math.min(...bytes.slice(-3)) - Math.min(...bytes.slice(3, 6));
  assert.ok(grown < Math.max(CALLS, 1_000_000) / 2, `${grown} bytes more`);
});

for (const ahead of [0, 100]) test(`memory is flat over ${CALLS} calls, ahead ${ahead}`, { timeout: MEMORY_MS }, async (t) => {
  const { stdout, stderr } = await finish(execFile(process.execPath,
    ["--expose-gc", path.join(__dirname, "support/memory.js"), daemon.socket, String(CALLS / ROUNDS), String(ROUNDS), String(ahead)]), MEMORY_MS);
  assert.equal(stderr, "");
  const bytes = JSON.parse(stdout);
  t.diagnostic(`bytes after each round: ${bytes.join(" ")}`);
  // The first rounds compile the code and fill what is bounded.
  const grown = Math.min(...bytes.slice(-3)) - Math.min(...bytes.slice(1, 4));
  assert.ok(grown < Math.max(CALLS, 1_000_000) / 2, `${grown} bytes more`); // less than a byte a call; in few calls the code itself is more
});
