"use strict";
// Workers of a cluster and worker threads that take IDs ahead from one daemon: killed and replaced, while the
// daemon is killed, too. None comes twice, and what a death costs is a gap with its cause.
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

/** No ID came twice. Each ID that no worker wrote is in a gap, available, or was issued to one of `dead` workers
 * that did not live to write it. */
async function verify(t, looks, name, ids, dead) {
  const audit = await until("the blocks of the dead end", async () => {
    const now = await looks.call("audit", name);
    return now.out === 0 && now;
  });
  const { gaps } = await looks.call("gaps", name, { limit: 1_000 });
  const highest = ids.reduce((most, id) => Math.max(most, id), 0);
  const seen = new Uint8Array(highest + 1);
  let twice = 0;
  for (const id of ids) twice += seen[id]++;
  for (const { first, count } of gaps) seen.fill(1, first, Math.min(first + count, highest + 1));
  let unwritten = 0;
  for (let id = 1; id <= highest; ++id) {
    if (seen[id] > 0) continue;
    const { answer } = await looks.call("explain", name, id);
    assert.ok(answer === "issued" || answer === "available", `${id}: ${answer}`);
    if (answer === "issued") ++unwritten;
  }
  t.diagnostic(`${name}: ${ids.length} IDs, ${twice} twice, ${audit.gaps} in ${gaps.length} gaps, ${unwritten} issued and not written; ${dead} deaths`);
  assert.equal(twice, 0);
  assert.ok(audit.good, JSON.stringify(audit.problems));
  assert.ok(gaps.every(({ cause }) => cause === "block_untold"), JSON.stringify(gaps));
  assert.equal(gaps.reduce((sum, { count }) => sum + count, 0), audit.gaps);
  assert.ok(audit.gaps <= dead * 2 * AHEAD, `${audit.gaps} IDs in gaps`);
  assert.ok(unwritten <= dead * CALLERS, `${unwritten} IDs`);
}

for (const [name, kind] of Object.entries(KINDS)) {
  test(`${name}: ${ROUNDS} are killed, and so is the daemon`, { timeout: ROUNDS * 30_000 + 120_000 }, async (t) => {
    const daemon = await startDaemon((end) => t.after(end), { sequences: Object.fromEntries(NAMES.map((one) => [one, { blocks: true }])) });
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
    // Those that end in order cost nothing, however often the daemon was killed.
    await crew.stop();
    for (const [sequence, ids] of crew.taken()) await verify(t, looks, sequence, ids, 0);
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
    for (const [sequence, ids] of crew.taken()) await verify(t, looks, sequence, ids, ROUNDS);
  });
}
