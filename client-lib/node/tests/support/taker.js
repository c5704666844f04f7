"use strict";
// A child process, a worker of a cluster or a worker thread that takes IDs and tells them to its parent:
// taker.js SOCKET COUNT
const { isMainThread, parentPort, workerData } = require("node:worker_threads");
const seqd = require("../../lib/index.js");

async function take(socket, count) {
  const client = new seqd.Client({ socket, timeout: 60_000 });
  const ids = await Promise.all(Array.from({ length: count }, () => client.next("orders")));
  // Not closed: an idle client keeps no process alive.
  return ids;
}

if (!isMainThread) {
  take(...workerData).then((ids) => parentPort.postMessage(ids));
} else if (require.main === module) {
  take(process.argv[2], Number(process.argv[3])).then((ids) => process.send(ids, () => process.disconnect()));
}
