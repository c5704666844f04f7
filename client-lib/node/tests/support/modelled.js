"use strict";
// tests/clients of the project: the scripts of model.json, and the daemon that carries out its side of one.
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const path = require("node:path");
const readline = require("node:readline");
const { PROJECT } = require("./daemon.js");
const { until } = require("./waiting.js");

const CLIENTS = path.join(PROJECT, "tests", "clients");
const { scripts } = require(path.join(CLIENTS, "model.json"));

class ScriptedDaemon {
  constructor(socket, name) {
    this.said = [];
    this.process = spawn("/usr/bin/python3", ["-B", path.join(CLIENTS, "scripted_daemon.py"), socket, name], { stdio: ["pipe", "pipe", "inherit"] });
    this.closed = once(this.process, "close");
    readline.createInterface({ input: this.process.stdout }).on("line", (line) => this.said.push(line));
  }
  until(event) {
    return until(`${event}, after ${this.said}`, () => {
      const broken = this.said.find((line) => line.startsWith("broken"));
      if (broken !== undefined) throw new Error(broken);
      return this.said.some((line) => `${line} `.startsWith(`${event} `));
    });
  }
  tell(event) { this.process.stdin.write(`${event}\n`); }
  /** Its exit code. */
  async end() {
    this.process.stdin.end();
    const [code] = await this.closed;
    return code;
  }
}

module.exports = { ScriptedDaemon, scripts };
