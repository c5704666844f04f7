"use strict";
// Real servers: startServers("mongo", "dynamo") gives their addresses, and end().
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const path = require("node:path");
const readline = require("node:readline");

async function startServers(...wanted) {
  const child = spawn("/usr/bin/python3", ["-B", path.join(__dirname, "servers.py"), ...wanted], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const end = async () => {
    child.stdin.end();
    await ended;
  };
  const lines = readline.createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, "line"), ended.then(() => { throw new Error("the servers of the test did not start"); })]);
  return { ...JSON.parse(line), end };
}

module.exports = { startServers };
