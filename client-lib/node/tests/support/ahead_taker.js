"use strict";
// A worker of a cluster or a worker thread that takes IDs with the option ahead until it is disconnected or told to stop.
// It writes each to a file of its own, so that what it took outlives it: the socket, the file and the names
// of the sequences are its workerData, or in TAKER as JSON.
const cluster = require("node:cluster");
const { openSync, writeSync } = require("node:fs");
const { setTimeout: sleep } = require("node:timers/promises");
const { isMainThread, parentPort, workerData } = require("node:worker_threads");
const seqd = require("../../lib/index.js");

const CALLERS = 3; // of each sequence
const AHEAD = 100;

async function main({ socket, file, names }) {
  const client = new seqd.Client({ socket, timeout: 60_000, ahead: AHEAD });
  const out = openSync(file, "a");
  let isOver = false;
  const stop = () => { isOver = true; };
  if (isMainThread) cluster.worker.once("disconnect", stop);
  else parentPort.once("message", stop);
  await Promise.all(names.flatMap((name) => Array.from({ length: CALLERS }, async () => {
    for (let at = 1; !isOver; ++at) {
      writeSync(out, `${name} ${await client.next(name)}\n`);
      if (at % 10 === 0) await sleep(1); // no worker takes the processor from all others
    }
  })));
  if (!isMainThread) parentPort.close();
}

if (!isMainThread) main(workerData);
else if (require.main === module) main(JSON.parse(process.env.TAKER));

module.exports = { AHEAD, CALLERS };
