"use strict";
// Workers of a cluster and worker threads that take IDs ahead from one daemon: killed and replaced, while the
// daemon is killed, too. None comes twice, and what the end of a worker costs is what it had fetched.
const { test } = require("node:test");
const assert = require("node:assert/strict");
const cluster = require("node:cluster");
const { readFileSync, statSync } = require("node:fs");
const path = require("node:path");
const { once } = require("node:events");
const { Worker } = require("node:worker_threads");
const { startDaemon } = require("./support/daemon.js");
const { until } = require("./support/waiting.js");
const { AHEAD, CALLERS } = require("./support/ahead_taker.js");

const TAKER = path.join(__dirname, "support/ahead_taker.js");
const ROUNDS = Math.ceil(Number(process.env.KILLS ?? 20) / 2);
const WORKERS = 3;
const NAMES = ["orders", "others"];
const IDS_OF_A_ROUND = 20 * AHEAD; // of each worker

/** How a worker is started, told to stop, and killed. */
const KINDS = {
  "workers of a cluster": {
    start: (data) => {
      cluster.setupPrimary({ exec: TAKER });
      return cluster.fork({ TAKER: JSON.stringify(data) });
    },
    stop: (worker) => worker.disconnect(),
    kill: (worker) => worker.process.kill("SIGKILL"),
  },
  "worker threads": {
    start: (data) => new Worker(TAKER, { workerData: data }),
    stop: (worker) => worker.postMessage("stop"),
    kill: (worker) => worker.terminate(),
  },
};

class Crew {
  constructor(kind, daemon) {
    this.kind = kind;
    this.daemon = daemon;
    this.files = [];
    this.workers = []; // that live
  }

  start() {
    const file = path.join(this.daemon.folder, `ids.${this.files.length}`);
    this.files.push(file);
    const worker = this.kind.start({ socket: this.daemon.socket, file, names: NAMES });
    this.workers.push({ worker, file, ended: once(worker, "exit") });
  }

  /** Ends when every worker that lives has taken so many IDs from now on. */
  async work() {
    const size = ({ file }) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    const before = this.workers.map((one) => [one, size(one)]);
    await until("life goes on", () => before.every(([one, bytes]) => size(one) > bytes + 10 * IDS_OF_A_ROUND));
  }

  async kill(place) {
    const [{ worker, ended }] = this.workers.splice(place, 1);
    await this.kind.kill(worker);
    await ended;
  }

  async stop() {
    for (const { worker } of this.workers) this.kind.stop(worker);
    for (const { ended } of this.workers.splice(0)) assert.equal((await ended)[0], 0);
  }

  /** What was taken of each sequence; a line that was written in part is none. */
  taken() {
    const ids = new Map(NAMES.map((name) => [name, []]));
    for (const file of this.files) {
      const text = readFileSync(file, "utf8");
      for (const line of text.slice(0, text.lastIndexOf("\n") + 1).split("\n").slice(0, -1)) {
        const [name, id] = line.split(" ");
        ids.get(name).push(Number(id));
      }
    }
    return ids;
  }
}

/** No ID came twice. Each ID that no worker wrote was issued to one of the `ended` workers, which had fetched it, or to
 * one of the `dead` of them that did not live to write it. */
async function verify(t, looks, name, ids, ended, dead) {
  const audit = await looks.call("audit", name);
  const highest = ids.reduce((most, id) => Math.max(most, id), 0);
  const seen = new Uint8Array(highest + 1);
  let twice = 0;
  for (const id of ids) twice += seen[id]++;
  const unwritten = audit.issued - ids.length;
  t.diagnostic(`${name}: ${ids.length} IDs, ${twice} twice, ${unwritten} issued and not written; ${ended} workers, ${dead} killed`);
  assert.equal(twice, 0);
  assert.deepEqual([audit.good, audit.gaps], [true, 0], JSON.stringify(audit.problems));
  assert.ok(unwritten >= 0 && unwritten <= ended * AHEAD + dead * CALLERS, `${unwritten} IDs`);
}

for (const [name, kind] of Object.entries(KINDS)) {
  test(`${name}: ${ROUNDS} are killed, and so is the daemon`, { timeout: ROUNDS * 30_000 + 120_000 }, async (t) => {
    const daemon = await startDaemon((end) => t.after(end));
    const looks = daemon.client();
    t.after(() => looks.destroy());
    const crew = new Crew(kind, daemon);
    t.after(() => Promise.all(crew.workers.map(({ worker }) => kind.kill(worker))));
    while (crew.workers.length < WORKERS) crew.start();
    await crew.work();
    for (let kills = 0; kills < 3; ++kills) {
      await daemon.kill();
      daemon.spawn();
      await crew.work();
    }
    // Those that end in order write what they took, however often the daemon was killed.
    await crew.stop();
    for (const [sequence, ids] of crew.taken()) await verify(t, looks, sequence, ids, WORKERS, 0);
    while (crew.workers.length < WORKERS) crew.start();
    for (let round = 0; round < ROUNDS; ++round) {
      await crew.work();
      const isDaemon = round % 3 === 2;
      if (isDaemon) await daemon.kill();
      await crew.kill(round % WORKERS);
      if (isDaemon) daemon.spawn();
      crew.start();
    }
    await crew.work();
    await crew.stop();
    for (const [sequence, ids] of crew.taken()) await verify(t, looks, sequence, ids, 2 * WORKERS + ROUNDS, ROUNDS);
  });
}
