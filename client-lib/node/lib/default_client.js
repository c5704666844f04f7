"use strict";
const { Client } = require("./client.js");

let shared;
/** The client that the plugins use if none is given: made when first needed. */
function defaultClient() {
  shared ??= new Client();
  return shared;
}

module.exports = { defaultClient };
