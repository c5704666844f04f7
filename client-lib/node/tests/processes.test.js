"use strict";
// Processes and threads: each has a client of its own, and none is kept alive by an idle one.
const { test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const { execFile, fork } = require("node:child_process");
const cluster = require("node:cluster");
const path = require("node:path");
const { once } = require("node:events");
const { Worker } = require("node:worker_threads");
const { Daemon } = require("./support/daemon.js");
const { finish } = require("./support/waiting.js");

const TAKER = path.join(__dirname, "support/taker.js");
const COUNT = 300;
let daemon;
let client;
let taken = 0;

before(async () => {
  daemon = await new Daemon().start();
  client = daemon.client();
});
after(async () => {
  await client?.close();
  await daemon?.close();
});

/** All IDs since the last call, each once and without a hole. */
function verify(ids) {
  const all = ids.flat().sort((one, two) => one - two);
  assert.deepEqual(all, Array.from({ length: all.length }, (_, index) => taken + index + 1));
  taken += all.length;
}

const takeHere = () => Promise.all(Array.from({ length: COUNT }, () => client.next("orders")));

async function messageOf(worker) {
  const [ids] = await once(worker, "message");
  return ids;
}

test("child_process.fork beside the parent", async () => {
  const children = Array.from({ length: 3 }, () => fork(TAKER, [daemon.socket, String(COUNT)]));
  const ends = children.map((child) => once(child, "exit"));
  verify(await Promise.all([takeHere(), ...children.map(messageOf)]));
  for (const [code] of await Promise.all(ends)) assert.equal(code, 0);
});

test("workers of a cluster", async () => {
  cluster.setupPrimary({ exec: TAKER, args: [daemon.socket, String(COUNT)] });
  const workers = Array.from({ length: 3 }, () => cluster.fork());
  const ends = workers.map((worker) => once(worker, "exit"));
  verify(await Promise.all([takeHere(), ...workers.map(messageOf)]));
  for (const [code] of await Promise.all(ends)) assert.equal(code, 0);
});

test("worker threads", async () => {
  const workers = Array.from({ length: 3 }, () => new Worker(TAKER, { workerData: [daemon.socket, COUNT] }));
  const ends = workers.map((worker) => once(worker, "exit"));
  verify(await Promise.all([takeHere(), ...workers.map(messageOf)]));
  for (const [code] of await Promise.all(ends)) assert.equal(code, 0);
});

const run = (script, socket) => finish(execFile(process.execPath, ["-e", script], {
  cwd: path.resolve(__dirname, ".."), env: { ...process.env, SEQD_SOCKET: socket },
}));

test("an idle client keeps no process alive", async () => {
  const script = `const { Client } = require("seqd");
    const client = new Client({ timeout: 3_600_000 });
    client.next("idle").then((id) => process.stdout.write(String(id)));`;
  assert.deepEqual(await run(script, daemon.socket), { code: 0, signal: null, stdout: "1", stderr: "" });
});

test("a call that waits does, until its time is over", async () => {
  const script = `const { Client } = require("seqd");
    new Client({ timeout: 300 }).next("orders").catch((error) => process.stdout.write(error.code));`;
  assert.deepEqual(await run(script, `${daemon.folder}/nobody`), { code: 0, signal: null, stdout: "CONNECT", stderr: "" });
});

test("a process without a file descriptor left: the error passes by itself", async () => {
  const script = `const { Client } = require("seqd");
    const { closeSync, openSync } = require("node:fs");
    const files = [];
    const fill = () => { try { for (;;) files.push(openSync("/dev/null")); } catch { /* EMFILE */ } };
    (async () => {
      const client = new Client();
      fill();
      const { code, temporary } = await client.next("orders").catch((error) => error);
      files.forEach(closeSync);
      process.stdout.write(JSON.stringify([code, temporary, typeof await client.next("shortage")]));
    })();`;
  const child = execFile("/bin/sh", ["-c", 'ulimit -n 64; exec "$0" -e "$1"', process.execPath, script], {
    cwd: path.resolve(__dirname, ".."), env: { ...process.env, SEQD_SOCKET: daemon.socket },
  });
  assert.deepEqual(await finish(child), { code: 0, signal: null, stdout: '["CONNECT",true,"number"]', stderr: "" });
});

test("close() ends before the process does", async () => {
  const script = `const { Client } = require("seqd");
    const client = new Client();
    client.next("closing").then(() => client.close()).then(() => process.stdout.write("closed"));`;
  assert.deepEqual(await run(script, daemon.socket), { code: 0, signal: null, stdout: "closed", stderr: "" });
});
