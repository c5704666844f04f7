"use strict";
// A server that does what a test says, for what a real daemon never does. It reads requests with the
// MessagePack library and shows each to the test.
const net = require("node:net");
const { mkdtempSync, rmSync } = require("node:fs");
const path = require("node:path");
const { once } = require("node:events");
const { decodeMultiStream, encode } = require("@msgpack/msgpack");

const LIMITS = { frame: 65_536, depth: 8, name: 128, count: 100_000, pipeline: 4_096, unacknowledged: 16_384 };

class Peer {
  constructor(socket, number) {
    this.socket = socket;
    this.number = number; // of the connection, from 1
    socket.on("error", () => {});
  }
  send(...messages) { this.raw(Buffer.concat(messages.map((one) => Buffer.from(encode(one))))); }
  raw(bytes) { this.socket.write(bytes); }
  reply(number, result) { this.send([1, number, null, result]); }
  error(number, text, fault = 0) { this.send([1, number, [fault, text], null]); }
  hello(known = false, others = {}) {
    this.reply(0, { server: "seqd", version: "0.1.0", protocol: 1, known, instance: "test", connection: `c${this.number}`, limits: LIMITS, ...others });
  }
  end() { this.socket.destroy(); }
}

/** `script(peer, message)` is called for each message; `opened(peer)` for each connection. All
 * messages are kept in `messages` as [connection, ...message]. */
async function startScripted(after, script, opened = () => {}) {
  const folder = mkdtempSync("/tmp/seqd-node-");
  const server = { socket: path.join(folder, "s"), messages: [], writes: 0, peers: [] };
  const listener = net.createServer((socket) => {
    const peer = new Peer(socket, server.peers.length + 1);
    server.peers.push(peer);
    socket.on("data", () => ++server.writes);
    opened(peer);
    (async () => {
      try {
        for await (const message of decodeMultiStream(socket)) {
          server.messages.push([peer.number, ...message]);
          script(peer, message);
        }
      } catch { /* the end of the connection */ }
    })();
  });
  listener.listen(server.socket);
  await once(listener, "listening");
  after(async () => {
    for (const peer of server.peers) peer.end();
    listener.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return server;
}

module.exports = { startScripted };
