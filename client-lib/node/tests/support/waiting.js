"use strict";
// Waiting with an end.
const { once } = require("node:events");
const { setTimeout: sleep } = require("node:timers/promises");

const PATIENCE_MS = 60_000;

/** Polls until the condition is true and returns its value. */
async function until(what, condition) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(5)) {
    const value = await condition();
    if (value) return value;
  }
  throw new Error(`in vain: ${what}`);
}

/** Runs a program to its end: { code, signal, stdout, stderr }. It is killed when it takes too long. */
async function finish(child, patience = PATIENCE_MS) {
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"]) child[stream]?.setEncoding("utf8").on("data", (text) => { output[stream] += text; });
  const clock = setTimeout(() => child.kill("SIGKILL"), patience);
  const [code, signal] = await once(child, "close");
  clearTimeout(clock);
  return { code, signal, ...output };
}

/** The error of a promise; that it is fulfilled fails the test. */
async function errorOf(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`should have failed and gave ${typeof value}`);
}

module.exports = { until, finish, errorOf, PATIENCE_MS };
