"use strict";
// Programs before and after the move (daemon/doc/MIGRATION.md), side by side on the same documents: IDS
// IDs of each kind, none of them twice.
const { test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const { CreateTableCommand, DynamoDBClient } = require("@aws-sdk/client-dynamodb");
const { DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } = require("@aws-sdk/lib-dynamodb");
const mongoose = require("mongoose");
const seqd = require("../lib/index.js");
const { Daemon } = require("./support/daemon.js");
const { startServers } = require("./support/servers.js");

const IDS = Number(process.env.IDS ?? 2_000);
const CALLERS = 4; // of the old code and of the new code each

let servers;
let daemon;
let client;
let connection;
let low;

before(async () => {
  servers = await startServers("mongo", "dynamo");
  const settings = { endpoint: servers.dynamo, region: "us-east-1", credentials: { accessKeyId: "seqdtest", secretAccessKey: "seqdtest" } };
  low = new DynamoDBClient(settings);
  for (const [name, key, type] of [["NextId", "NextKey", "S"], ["Orders", "number", "N"]]) {
    await low.send(new CreateTableCommand({
      TableName: name, BillingMode: "PAY_PER_REQUEST",
      AttributeDefinitions: [{ AttributeName: key, AttributeType: type }], KeySchema: [{ AttributeName: key, KeyType: "HASH" }],
    }));
  }
  connection = await mongoose.createConnection(servers.mongo, { dbName: "shop" }).asPromise();
  await connection.collection("ids").createIndex({ prefix: 1 }, { unique: true });
  daemon = await new Daemon({
    daemon: { default_store: "central" },
    stores: {
      central: { type: "mongodb", uri: servers.mongo, database: "shop" },
      aws: { type: "dynamodb", endpoint: servers.dynamo, region: "us-east-1", instances_table: "NextId", instances_key: "NextKey" },
    },
    environment: { AWS_ACCESS_KEY_ID: "seqdtest", AWS_SECRET_ACCESS_KEY: "seqdtest" },
    defaults: { wait_timeout: "30s" },
    sequences: {
      dailyids: {
        collection: "ids", key_field: "prefix", key: "{period}", key_type: "integer", counter_field: "count", meaning: "last",
        period: "%y%m%d", time_zone: "UTC", format: "{date:%y%m%d}{number:4}", period_retention: "30d",
      },
      userid: { collection: "counters", counter_field: "seq", meaning: "last" },
      tickets: { collection: "ranges", counter_field: "index", meaning: "next", first_id: 1000 },
      orders: { store: "aws", collection: "NextId", key_field: "NextKey", counter_field: "NextId", meaning: "last" },
    },
  }).start();
  client = daemon.client();
});
after(async () => {
  await client?.close();
  await daemon?.close();
  low?.destroy();
  await connection?.close();
  await servers?.end();
});

/** IDS IDs: half of them by callers of `old`, half by callers of `moved`. */
async function sideBySide(t, old, moved) {
  const begin = Date.now();
  const take = async (one) => {
    const ids = await Promise.all(Array.from({ length: CALLERS }, async () => {
      const own = [];
      for (let left = IDS / 2 / CALLERS; left > 0; --left) own.push(await one());
      return own;
    }));
    return { ids: ids.flat(), seconds: (Date.now() - begin) / 1_000 };
  };
  const [before, after] = await Promise.all([take(old), take(moved)]);
  const ids = [...before.ids, ...after.ids];
  t.diagnostic(`${ids.length} IDs, ${ids.length - new Set(ids).size} twice; the old code took ${before.seconds} s, the new one ${after.seconds} s`);
  assert.equal(ids.length, IDS);
  assert.equal(new Set(ids).size, IDS);
  return ids;
}

/** The old code's retry after a duplicate key at a concurrent upsert. */
async function upserting(call) {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (error.code !== 11000) throw error;
    }
  }
}

test("a counter a day", { timeout: 600_000 }, async (t) => {
  const ids = connection.collection("ids");
  const old = async () => {
    const prefix = Number(new Date().toISOString().slice(2, 10).replaceAll("-", ""));
    const value = await upserting(() => ids.findOneAndUpdate({ prefix }, { $inc: { count: 1 } }, { upsert: true, returnDocument: "after" }));
    return `${prefix}${String(value.count).padStart(4, "0")}`;
  };
  const schema = new mongoose.Schema({ customer: String, code: String });
  schema.plugin(seqd.mongoose, { field: "code", sequence: "dailyids", text: true, client });
  const Order = connection.model("Order", schema);
  const all = await sideBySide(t, old, async () => (await Order.create({ customer: "x" })).code);
  for (const one of all) assert.match(one, /^\d{6}\d{4,}$/);
});

test("a counters collection", { timeout: 600_000 }, async (t) => {
  const counters = connection.collection("counters");
  await counters.insertOne({ _id: "userid", seq: 0 });
  const users = connection.collection("users");
  const old = async () => {
    const { seq } = await counters.findOneAndUpdate({ _id: "userid" }, { $inc: { seq: 1 } }, { returnDocument: "after" });
    await users.insertOne({ _id: seq, name: "old" });
    return seq;
  };
  const schema = new mongoose.Schema({ _id: Number, name: String });
  schema.plugin(seqd.mongoose, { field: "_id", sequence: "userid", client });
  const User = connection.model("User", schema, "users");
  await sideBySide(t, old, async () => (await User.create({ name: "new" }))._id);
  assert.equal(await users.countDocuments(), IDS);
});

test("a cached range", { timeout: 600_000 }, async (t) => {
  const ranges = connection.collection("ranges");
  await ranges.insertOne({ _id: "tickets", index: 1000 });
  let next = 0;
  let end = 0;
  let fetch; // in flight, for which all callers wait
  const old = async () => {
    while (next === end) {
      fetch ??= (async () => {
        const { index } = await ranges.findOneAndUpdate({ _id: "tickets" }, { $inc: { index: 10 } }, { returnDocument: "after" });
        [next, end, fetch] = [index - 10, index, undefined];
      })();
      await fetch;
    }
    return next++;
  };
  const all = await sideBySide(t, old, () => client.next("tickets"));
  assert.equal(Math.min(...all), 1000);
});

test("a conditional update", { timeout: 600_000 }, async (t) => {
  const documents = DynamoDBDocumentClient.from(low);
  await documents.send(new PutCommand({ TableName: "NextId", Item: { NextKey: "orders", NextId: 0 } }));
  const old = async () => {
    for (;;) {
      const { Item } = await documents.send(new GetCommand({ TableName: "NextId", Key: { NextKey: "orders" }, ConsistentRead: true }));
      try {
        await documents.send(new UpdateCommand({
          TableName: "NextId", Key: { NextKey: "orders" }, UpdateExpression: "SET NextId = :next", ConditionExpression: "NextId = :current",
          ExpressionAttributeValues: { ":current": Item.NextId, ":next": Item.NextId + 1 },
        }));
        return Item.NextId + 1;
      } catch (error) {
        if (error.name !== "ConditionalCheckFailedException") throw error;
      }
    }
  };
  const number = seqd.dynamodb.beforeSave({ field: "number", sequence: "orders", client });
  await sideBySide(t, old, async () => {
    const item = await number({ customer: "x" });
    await documents.send(new PutCommand({ TableName: "Orders", Item: item, ConditionExpression: "attribute_not_exists(#n)", ExpressionAttributeNames: { "#n": "number" } }));
    return item.number;
  });
});
