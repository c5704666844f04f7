"use strict";
// The scripts of tests/clients/model.json: what a caller may see, whatever the daemon does.
const { test } = require("node:test");
const assert = require("node:assert/strict");
const { mkdtempSync, rmSync } = require("node:fs");
const path = require("node:path");
const seqd = require("../lib/index.js");
const { ScriptedDaemon, scripts } = require("./support/modelled.js");
const { PATIENCE_MS } = require("./support/waiting.js");

const CAN = new Set(["cancel", "timeouts", "closing"]); // Node has no fork()

/** The parameter that a script stands for. */
function filled(value) {
  if (value === null || typeof value !== "object") return value;
  if (value.$text !== undefined) return "x".repeat(value.$text);
  if (value.$levels !== undefined) return value.$levels === 1 ? [] : [filled({ $levels: value.$levels - 1 })];
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one)]));
}

const METHODS = {
  next: (client, [name], options) => client.next(name, options),
  next_text: (client, [name], options) => client.nextText(name, options),
  range: (client, [name, count], options) => client.nextMany(name, count, options),
  insert: (client, [name, document], options) => client.insert(name, document, options),
  insert_unique: (client, [name, document, unique], options) => client.insert(name, document, { unique, ...options }),
};

function outcomeOf(result) {
  if (Array.isArray(result)) return `ids ${result}`;
  return typeof result === "string" ? `text ${result}` : `id ${result}`;
}

class Player {
  constructor(socket, timeouts = {}) {
    this.client = new seqd.Client({ socket, timeout: PATIENCE_MS });
    this.timeouts = timeouts;
    this.aborts = new Map();
    this.calls = new Map();
    this.outcomes = {};
  }
  start(call, method, ...parameters) {
    const abort = new AbortController();
    const options = { timeout: this.timeouts[call] ?? PATIENCE_MS, signal: abort.signal };
    this.aborts.set(call, abort);
    this.calls.set(call, METHODS[method](this.client, parameters.map(filled), options).then(outcomeOf, (error) => {
      if (error === abort.signal.reason) return "error CANCELLED";
      assert.ok(error instanceof seqd.SeqdError, error);
      if (error.code === "OUTCOME_UNKNOWN") assert.ok(error instanceof seqd.OutcomeUnknownError && !error.temporary);
      return `error ${error.code}`;
    }).then((outcome) => { this.outcomes[call] = outcome; }));
  }
  await(call) { return this.calls.get(call); }
  cancel(call) { this.aborts.get(call).abort(); }
  close() { return this.client.destroy(); }
}

for (const script of scripts.filter(({ needs = [] }) => needs.every((one) => CAN.has(one)))) {
  test(script.name, async (t) => {
    const folder = mkdtempSync("/tmp/seqd-node-");
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const socket = path.join(folder, "s");
    const daemon = new ScriptedDaemon(socket, script.name);
    t.after(() => daemon.process.kill());
    await daemon.until("listening");
    const player = new Player(socket, script.timeouts);
    for (const [word, ...rest] of script.client) await (word === "until" || word === "tell" ? daemon : player)[word](...rest);
    await player.close();
    assert.equal(await daemon.end(), 0, `${daemon.said}`);
    assert.deepEqual(Object.keys(player.outcomes).sort(), Object.keys(script.outcomes).sort());
    for (const [call, allowed] of Object.entries(script.outcomes))
      assert.ok(allowed.includes(player.outcomes[call]), `${call} is ${player.outcomes[call]}: ${daemon.said}`);
    for (const [method, allowed] of Object.entries(script.sent ?? {})) {
      const sent = daemon.said.filter((line) => line.startsWith("taken ") && line.endsWith(` ${method}`)).length;
      assert.ok(allowed.includes(sent), `${method} was sent ${sent} times: ${daemon.said}`);
    }
  });
}

test("only scripts that need fork() are left out", () => {
  for (const { name, needs = [] } of scripts) assert.ok(needs.every((one) => CAN.has(one) || one === "fork"), name);
});
