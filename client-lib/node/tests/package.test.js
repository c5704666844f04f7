"use strict";
// The package as others get it: npm pack, npm install by path into a fresh folder, ESM, CommonJS and
// the README's first lines; and its types.
const { test, before, after, describe } = require("node:test");
const assert = require("node:assert/strict");
const { execFile } = require("node:child_process");
const { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const { pathToFileURL } = require("node:url");
const { Daemon, PROJECT } = require("./support/daemon.js");
const { finish } = require("./support/waiting.js");

const PACKAGE = path.resolve(__dirname, "..");
let daemon;
let folder;

async function run(command, parameters, cwd = folder) {
  const done = await finish(execFile(command, parameters, { cwd, env: { ...process.env, SEQD_SOCKET: daemon.socket } }));
  assert.equal(done.code, 0, `${command} ${parameters.join(" ")}:\n${done.stdout}${done.stderr}`);
  return done.stdout.trim();
}

before(async () => {
  daemon = await new Daemon({ sequences: { invoices: { format: "INV-{date:%y%m%d}-{number:6}{check:luhn}" } } }).start();
  folder = mkdtempSync("/tmp/seqd-node-package-");
  writeFileSync(path.join(folder, "package.json"), "{}");
});
after(async () => {
  await daemon?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

test("npm pack, npm install, and what a program writes first", { timeout: 300_000 }, async () => {
  const packed = await run("npm", ["pack", "--silent", "--pack-destination", folder, PACKAGE]);
  const archive = path.join(folder, packed.split("\n").at(-1));
  assert.ok(existsSync(archive));
  await run("npm", ["install", "--silent", "--no-audit", "--no-fund", archive]);
  const installed = path.join(folder, "node_modules/seqd");
  assert.deepEqual(readdirSync(installed).sort(), ["CHANGELOG.md", "LICENSE", "README.md", "lib", "package.json", "types"]);
  assert.deepEqual(readdirSync(path.join(folder, "node_modules")).filter((name) => !name.startsWith(".")).sort(), ["@msgpack", "seqd"]);

  const readme = readFileSync(path.join(installed, "README.md"), "utf8");
  const [first, second] = [...readme.matchAll(/```js\n(.*?)```/sg)].map(([, lines]) => lines);
  assert.equal(first.trim().split("\n").length, 5);
  writeFileSync(path.join(folder, "first.mjs"), first);
  assert.match(await run(process.execPath, ["first.mjs"]), /^1 INV-\d{6}-000001\d$/);
  // The next lines belong to the same program.
  const mongoose = pathToFileURL(require.resolve("mongoose")).href;
  const whole = `import mongoose from "${mongoose}";\nconst schema = new mongoose.Schema({});\n${first}${second}console.log(schema.path("number").instance);`;
  writeFileSync(path.join(folder, "second.mjs"), whole);
  assert.match(await run(process.execPath, ["second.mjs"]), /^2 INV-\d{6}-000002\d\nNumber$/);

  // The calls in the table of clients of the project's README.
  const row = readFileSync(path.join(PROJECT, "README.md"), "utf8").match(/^\| \[Node\.js\].*$/m)[0];
  const [once, each] = [...row.matchAll(/`([^`]+)`/g)].map(([, call]) => call);
  writeFileSync(path.join(folder, "project.mjs"), `import seqd from "seqd";\n${once};\nconsole.log(${each});\nawait client.close();\n`);
  assert.equal(await run(process.execPath, ["project.mjs"]), "1");

  cpSync(path.join(PROJECT, "client-lib/examples/next.mjs"), path.join(folder, "next.mjs"));
  assert.deepEqual((await run(process.execPath, ["next.mjs", "examples", "3"])).split("\n"), ["1", "2", "3"]);

  writeFileSync(path.join(folder, "both.cjs"), `
    const seqd = require("seqd");
    import("seqd").then(async (esm) => {
      const { default: plugin } = await import("seqd/mongoose");
      const dynamodb = await import("seqd/dynamodb");
      const same = [esm.Client === seqd.Client, esm.default === seqd, plugin === seqd.mongoose, plugin === require("seqd/mongoose"),
        dynamodb.plugin === require("seqd/dynamodb").plugin, ...Object.keys(seqd).map((name) => esm[name] === seqd[name])];
      console.log(same.every(Boolean), await seqd.defaultClient().next("both"));
    });`);
  assert.equal(await run(process.execPath, ["both.cjs"]), "true 1");
});

test("in the README, seqd is the module everywhere", () => {
  const readme = readFileSync(path.join(PACKAGE, "README.md"), "utf8");
  const lines = [...readme.matchAll(/```js\n(.*?)```/sg)].map(([, block]) => block).join("");
  const used = [...lines.matchAll(/(?<!["\w])seqd\.(\w+)/g)].map(([, name]) => name);
  assert.ok(used.includes("mongoose") && used.includes("Client"));
  for (const name of used) assert.ok(name in require("../lib/index.js"), `seqd.${name}`);
  assert.doesNotMatch(lines, /\bseqd = /);
});

test("the package says whose it is, and with which versions it works", () => {
  const told = require("../package.json");
  assert.ok(told.author.includes(told.bugs.email));
  for (const name of Object.keys(told.peerDependencies)) {
    assert.equal(told.peerDependenciesMeta[name].optional, true, name);
    // What the tests run with: each of them is in the range.
    for (const [one, version] of Object.entries(told.devDependencies)) {
      if (one.replace(/\d$/, "") !== name) continue;
      const [, major] = /(\d+)\.\d+\.\d+$/.exec(version);
      assert.ok(told.peerDependencies[name].split(" || ").includes(`^${major}.0.0`), `${one} ${version}`);
    }
  }
});

test("the lock names no place of the archives, and there is one run-time dependency", () => {
  const lock = JSON.parse(readFileSync(path.join(PACKAGE, "package-lock.json"), "utf8"));
  for (const [name, one] of Object.entries(lock.packages)) assert.equal(one.resolved, undefined, name);
  assert.deepEqual(Object.keys(require("../package.json").dependencies), ["@msgpack/msgpack"]);
  assert.equal(lock.packages[""].version, require("../package.json").version);
  const told = readFileSync(path.join(PROJECT, "protocol", "version.h"), "utf8").match(/^#define SEQD_VERSION "(.+)"$/m)[1];
  assert.equal(require("../package.json").version, told);
  assert.equal(readFileSync(path.join(PACKAGE, "LICENSE"), "utf8"), readFileSync(path.join(PROJECT, "LICENSE"), "utf8"));
});

describe("tsc --strict", () => {
  for (const config of ["tsconfig.json", "tsconfig.own.json", "tsconfig.alone.json"])
    test(config, () => run(process.execPath, [require.resolve("typescript/bin/tsc"), "-p", path.join(__dirname, "types", config)], PACKAGE));
});
