"use strict";
// The package `seqd`: IDs from the daemon of this host. types/index.d.ts describes it.
const errors = require("./errors.js");
const { Client } = require("./client.js");

const { errorOf, ...classes } = errors;

let shared;
/** The client that the plugins use if none is given: made when first needed. */
function defaultClient() {
  shared ??= new Client();
  return shared;
}

module.exports = { Client, defaultClient, ...classes };
