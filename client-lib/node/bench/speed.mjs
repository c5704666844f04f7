// Beside ioredis (INCR) on a redis-server of its own, in one run: calls a second, one at a time and 100 at
// once; the rounds of both take turns. speed.mjs [ROUNDS [SECONDS]]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import Redis from "ioredis";
import { Client } from "seqd";

const { Daemon } = createRequire(import.meta.url)("../tests/support/daemon.js");
const [rounds, seconds] = [process.argv[2] ?? 7, process.argv[3] ?? 1].map(Number);

async function startRedis(folder) {
  const socket = path.join(folder, "redis.sock");
  const server = spawn("setpriv", ["--pdeathsig", "KILL", "redis-server", "--port", "0", "--unixsocket", socket,
    "--save", "", "--appendonly", "no", "--dir", folder], { stdio: "ignore" });
  const redis = new Redis({ path: socket, retryStrategy: () => 20, maxRetriesPerRequest: null });
  redis.on("error", () => {}); // until it listens
  const batching = redis.duplicate({ enableAutoPipelining: true });
  batching.on("error", () => {});
  await Promise.all([redis.ping(), batching.ping()]);
  return { redis, batching, end: async () => {
    redis.disconnect();
    batching.disconnect();
    server.kill();
    await once(server, "exit");
  } };
}

async function measure(call, atOnce) {
  const begin = process.hrtime.bigint();
  const end = begin + BigInt(seconds * 1e9);
  let calls = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (process.hrtime.bigint() < end) {
      await call();
      ++calls;
    }
  }));
  return calls / (Number(process.hrtime.bigint() - begin) / 1e9);
}

const median = (all) => all.sort((one, two) => one - two)[Math.floor(all.length / 2)];

const daemon = await new Daemon().start();
const folder = mkdtempSync("/dev/shm/seqd-node-bench-");
const { redis, batching, end } = await startRedis(folder);
const client = new Client({ socket: daemon.socket });
const sides = { seqd: () => client.next("orders"), ioredis: () => redis.incr("orders"), "ioredis, enableAutoPipelining": () => batching.incr("orders") };
let behind = 0;
try {
  for (const atOnce of [1, 100]) {
    const rates = Object.fromEntries(Object.keys(sides).map((side) => [side, []]));
    for (const call of Object.values(sides)) await measure(call, atOnce); // compiled
    for (let round = 0; round < rounds; ++round)
      for (const [side, call] of Object.entries(sides)) rates[side].push(await measure(call, atOnce));
    const medians = Object.entries(rates).map(([side, all]) => [side, Math.round(median(all))]);
    for (const [side, rate] of medians) console.log(`${String(atOnce).padStart(4)} at once  ${side.padEnd(30)} ${String(rate).padStart(9)} calls/s`);
    const [[, own], ...others] = medians;
    if (others.some(([, rate]) => rate > own)) ++behind;
  }
} finally {
  await client.close();
  await daemon.close();
  await end();
  rmSync(folder, { recursive: true, force: true });
}
console.log(behind === 0 ? "seqd is not behind in any row" : `seqd is behind in ${behind} rows`);
process.exitCode = behind === 0 ? 0 : 1;
