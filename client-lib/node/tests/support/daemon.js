"use strict";
// A real seqd for the tests: $BUILD/seqd with state, configuration and socket of its own. It stays over
// any number of starts, and dies with the process that started it.
const { spawn } = require("node:child_process");
const { mkdtempSync, mkdirSync, rmSync, writeFileSync, readFileSync, openSync, closeSync } = require("node:fs");
const { once } = require("node:events");
const path = require("node:path");
const { Client } = require("../../lib/index.js");

const PROJECT = path.resolve(__dirname, "../../../..");
const BUILD = path.resolve(process.env.BUILD ?? path.join(PROJECT, "build"));
const READY_MS = 60_000;

function toml(value) {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  return typeof value === "bigint" ? String(value) : JSON.stringify(value);
}
const table = (name, options) => `[${name}]\n${Object.entries(options).map(([key, value]) => `${key} = ${toml(value)}\n`).join("")}\n`;

class Daemon {
  constructor({ stores = { default: { type: "sqlite" } }, sequences = {}, limits, defaults, daemon = {}, environment = {} } = {}) {
    // The witness belongs on a tmpfs, and a socket's path has at most 107 bytes.
    this.folder = mkdtempSync("/dev/shm/seqd-node-");
    this.socket = path.join(this.folder, "seqd.sock");
    this.environment = environment;
    for (const one of ["state", "witness"]) mkdirSync(path.join(this.folder, one));
    let text = table("daemon", {
      socket: this.socket, state_dir: path.join(this.folder, "state"), witness_dir: path.join(this.folder, "witness"), ...daemon,
    });
    if (limits) text += table("limits", limits);
    for (const [name, options] of Object.entries(stores)) text += table(`store.${name}`, options);
    if (defaults) text += table("sequence_defaults", defaults);
    for (const [name, options] of Object.entries(sequences)) text += table(`sequence."${name}"`, options);
    writeFileSync(path.join(this.folder, "seqd.toml"), text);
  }

  spawn() {
    const log = openSync(path.join(this.folder, "log"), "a");
    const environment = { ...process.env, ...this.environment };
    for (const one of ["NOTIFY_SOCKET", "JOURNAL_STREAM", "LISTEN_FDS", "LISTEN_PID", "WATCHDOG_USEC", "SEQD_SOCKET"]) delete environment[one];
    this.process = spawn("setpriv", ["--pdeathsig", "KILL", path.join(BUILD, "seqd"), "--config", path.join(this.folder, "seqd.toml")],
      { stdio: ["ignore", log, log], env: environment });
    this.ended = once(this.process, "exit");
    closeSync(log);
    return this;
  }

  /** Ends when the daemon answers. */
  async start() {
    this.spawn();
    const client = new Client({ socket: this.socket, timeout: READY_MS });
    const ended = this.ended.then(([code, signal]) => { throw new Error(`seqd ended with ${code ?? signal}:\n${this.log()}`); });
    ended.catch(() => {});
    try {
      await Promise.race([client.call("ping"), ended]);
    } finally {
      await client.destroy();
    }
    return this;
  }

  client(options) { return new Client({ socket: this.socket, timeout: READY_MS, ...options }); }

  log() { return readFileSync(path.join(this.folder, "log"), "utf8").slice(-4000); }

  async kill(signal = "SIGKILL") {
    this.process.kill(signal);
    await this.ended;
  }

  async close() {
    if (this.process !== undefined && this.process.exitCode === null && this.process.signalCode === null) await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A started daemon that ends with the test or suite. */
async function startDaemon(after, options) {
  const daemon = new Daemon(options);
  after(() => daemon.close());
  return daemon.start();
}

module.exports = { Daemon, startDaemon, BUILD, PROJECT };
