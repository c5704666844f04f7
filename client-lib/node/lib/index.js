"use strict";
// The package `seqd`: IDs from the daemon of this host. types/index.d.ts describes it.
const { errorOf, ...errors } = require("./errors.js");
const { Client } = require("./client.js");
const { defaultClient } = require("./default_client.js");

module.exports = {
  Client, defaultClient, ...errors,
  mongoose: require("./mongoose/index.js"),
  dynamodb: require("./dynamodb/index.js"),
};
