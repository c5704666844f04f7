"use strict";
// kill -9 of the daemon under load, KILLS times, and an orderly stop after every fifth: the callers see
// nothing of it, no ID comes twice, and none is lost.
const { test } = require("node:test");
const assert = require("node:assert/strict");
const net = require("node:net");
const path = require("node:path");
const { once } = require("node:events");
const { setTimeout: sleep } = require("node:timers/promises");
const { startDaemon } = require("./support/daemon.js");

const KILLS = Number(process.env.KILLS ?? 20);
const IN_FLIGHT = 50;
const CLIENTS = 3;

function summary(ids) {
  const highest = ids.reduce((most, id) => Math.max(most, id), 0);
  const seen = new Uint8Array(highest + 1); // a Set holds 2^24 at most
  let twice = 0;
  for (const id of ids) {
    twice += seen[id];
    seen[id] = 1;
  }
  return { taken: ids.length, twice, holes: highest - (ids.length - twice) };
}

test(`${KILLS} kills`, { timeout: KILLS * 5_000 + 60_000 }, async (t) => {
  const daemon = await startDaemon((end) => t.after(end), { sequences: { invoices: { format: "INV-{number:9}" } } });
  const taken = { orders: [], blocks: [], invoices: [] };
  let kills = 0;
  let stops = 0;
  const clients = Array.from({ length: CLIENTS }, () => daemon.client());
  const takeOrders = async (client) => { while (kills < KILLS) taken.orders.push(await client.next("orders")); };
  const takeBlocks = async (client) => { while (kills < KILLS) taken.blocks.push(...await client.nextMany("blocks", 7)); };
  const takeInvoices = async (client) => { while (kills < KILLS) taken.invoices.push(Number((await client.nextText("invoices")).slice(4))); };
  const callers = clients.flatMap((client) => [takeBlocks(client), takeInvoices(client), ...Array.from({ length: IN_FLIGHT }, () => takeOrders(client))]);
  const all = Promise.all(callers);
  const killing = (async () => {
    while (kills < KILLS) {
      await sleep(Math.random() * 60);
      const isStop = stops < Math.floor(kills / 5);
      await daemon.kill(isStop ? "SIGTERM" : "SIGKILL");
      daemon.spawn();
      // Life goes on before the next one, so that each kill hits a daemon that issues.
      const before = taken.orders.length;
      while (taken.orders.length < before + IN_FLIGHT) await Promise.race([sleep(2), all]);
      if (isStop) ++stops;
      else ++kills;
    }
  })();
  await Promise.all([all, killing]);
  await Promise.all(clients.map((client) => client.close()));
  for (const [name, ids] of Object.entries(taken)) {
    const found = summary(ids);
    t.diagnostic(`${name}: ${kills} kills, ${stops} stops, ${found.taken} IDs, ${found.twice} twice, ${found.holes} holes`);
    assert.ok(found.taken > KILLS);
    assert.deepEqual({ twice: found.twice, holes: found.holes }, { twice: 0, holes: 0 }, name);
  }
});

/** Stands between client and daemon, and at times takes replies of the daemon, passes a part of them on
 * and ends the connection: their requests were carried out, and the client cannot know. */
async function startRelay(daemon, isOver) {
  const relay = { socket: path.join(daemon.folder, "relay"), cuts: 0 };
  const sockets = new Set();
  const server = net.createServer((near) => {
    const far = net.connect(daemon.socket);
    const cut = () => { near.destroy(); far.destroy(); };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", cut);
      socket.on("close", () => { sockets.delete(socket); cut(); });
    }
    near.pipe(far);
    far.on("data", (replies) => {
      if (isOver() || Math.random() > 0.02) return near.write(replies);
      ++relay.cuts;
      near.write(replies.subarray(0, Math.floor(Math.random() * replies.length)), cut);
    });
  });
  server.listen(relay.socket);
  await once(server, "listening");
  relay.close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return relay;
}

test(`${KILLS * 10} connections end with replies that were not read`, { timeout: KILLS * 5_000 + 60_000 }, async (t) => {
  const daemon = await startDaemon((end) => t.after(end));
  const relay = await startRelay(daemon, () => relay.cuts >= KILLS * 10);
  t.after(() => relay.close());
  const clients = Array.from({ length: CLIENTS }, () => daemon.client({ socket: relay.socket }));
  const ids = [];
  const take = async (client) => { while (relay.cuts < KILLS * 10) ids.push(await client.next("orders"), ...await client.nextMany("orders", 3)); };
  await Promise.all(clients.flatMap((client) => Array.from({ length: IN_FLIGHT }, () => take(client))));
  await Promise.all(clients.map((client) => client.close()));
  const found = summary(ids);
  t.diagnostic(`${relay.cuts} connections lost, ${found.taken} IDs, ${found.twice} twice, ${found.holes} holes`);
  assert.deepEqual({ twice: found.twice, holes: found.holes }, { twice: 0, holes: 0 });
});
