"use strict";
// The helpers with the real aws-sdk v3 and dynamoose, on DynamoDB Local, with a real seqd whose counters
// are in a table of it.
const { test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const { BatchWriteItemCommand, CreateTableCommand, DynamoDBClient, PutItemCommand } = require("@aws-sdk/client-dynamodb");
const {
  BatchWriteCommand, DynamoDBDocumentClient, GetCommand, PutCommand, ScanCommand, TransactWriteCommand, UpdateCommand,
} = require("@aws-sdk/lib-dynamodb");
const dynamoose = require("dynamoose");
const seqd = require("../lib/index.js");
const { Daemon } = require("./support/daemon.js");
const { startServers } = require("./support/servers.js");
const { errorOf } = require("./support/waiting.js");

let daemon;
let client;
let servers;
let settings;
let low;
let tables = 0;

before(async () => {
  servers = await startServers("dynamo");
  settings = { endpoint: servers.dynamo, region: "us-east-1", credentials: { accessKeyId: "seqdtest", secretAccessKey: "seqdtest" } };
  low = new DynamoDBClient(settings);
  await createTable("NextId", "NextKey");
  daemon = await new Daemon({
    stores: { aws: {
      type: "dynamodb", endpoint: servers.dynamo, region: "us-east-1", instances_table: "NextId", instances_key: "NextKey",
    } },
    environment: { AWS_ACCESS_KEY_ID: "seqdtest", AWS_SECRET_ACCESS_KEY: "seqdtest" },
    defaults: { collection: "NextId", key_field: "NextKey", counter_field: "NextId", meaning: "last", wait_timeout: "30s" },
    sequences: { "*": {}, invoices: { format: "INV-{number:6}" } },
  }).start();
  client = daemon.client();
  dynamoose.aws.ddb.set(new dynamoose.aws.ddb.DynamoDB(settings));
});
after(async () => {
  low?.destroy();
  await client?.close();
  await daemon?.close();
  await servers?.end();
});

async function createTable(name, key) {
  await low.send(new CreateTableCommand({
    TableName: name, BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: key, AttributeType: "S" }], KeySchema: [{ AttributeName: key, KeyType: "HASH" }],
  }));
}

/** A document client with the plugin and a table of its own. */
async function setUp(options = {}) {
  const table = `Orders${++tables}`;
  await createTable(table, "id");
  const own = new DynamoDBClient(settings);
  const documents = DynamoDBDocumentClient.from(own);
  documents.middlewareStack.use(seqd.dynamodb.plugin({ table, client, ...(options.fields ? {} : { field: "number", sequence: table }), ...options }));
  const read = async (id) => (await documents.send(new GetCommand({ TableName: table, Key: { id }, ConsistentRead: true }))).Item;
  return { table, documents, own, read };
}

test("Put: only if empty, the caller's item stays as it is", async () => {
  const { table, documents, own, read } = await setUp();
  const item = Object.freeze({ id: "a", lines: [1, 2], address: { city: "x" } });
  await documents.send(new PutCommand({ TableName: table, Item: item }));
  assert.deepEqual(await read("a"), { ...item, number: 1 });
  await documents.send(new PutCommand({ TableName: table, Item: { id: "b", number: 77 } }));
  await documents.send(new PutCommand({ TableName: table, Item: { id: "c", number: null } }));
  assert.deepEqual([(await read("b")).number, (await read("c")).number], [77, 2]);
  await documents.send(new UpdateCommand({ TableName: table, Key: { id: "d" }, UpdateExpression: "SET n = :n", ExpressionAttributeValues: { ":n": 1 } }));
  assert.deepEqual(await read("d"), { id: "d", n: 1 });
  await createTable(`${table}Other`, "id");
  await documents.send(new PutCommand({ TableName: `${table}Other`, Item: { id: "a" } }));
  assert.equal((await client.peek(table)).last, 2);
  own.destroy();
});

test("BatchWrite and TransactWrite", async () => {
  const { table, documents, own } = await setUp({ sequence: ({ tenant }) => `batch.${tenant}` });
  await documents.send(new BatchWriteCommand({ RequestItems: { [table]: [
    { PutRequest: { Item: { id: "a", tenant: "x" } } }, { DeleteRequest: { Key: { id: "none" } } },
    { PutRequest: { Item: { id: "b", tenant: "y" } } }, { PutRequest: { Item: { id: "c", tenant: "x" } } },
  ] } }));
  await documents.send(new TransactWriteCommand({ TransactItems: [
    { Put: { TableName: table, Item: { id: "d", tenant: "x" } } },
    { ConditionCheck: { TableName: table, Key: { id: "none" }, ConditionExpression: "attribute_not_exists(id)" } },
    { Put: { TableName: table, Item: { id: "e", tenant: "y", number: 9 } } },
  ] }));
  const { Items } = await documents.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
  const numbers = Object.fromEntries(Items.map(({ id, number }) => [id, number]));
  assert.deepEqual(numbers, { a: 1, b: 1, c: 2, d: 3, e: 9 });
  own.destroy();
});

test("the low-level client, and a text", async () => {
  const { table, own, read } = await setUp({ fields: [{ field: "number", sequence: "low" }, { field: "code", sequence: "invoices", text: true }] });
  await own.send(new PutItemCommand({ TableName: table, Item: { id: { S: "a" }, code: { NULL: true } } }));
  await own.send(new BatchWriteItemCommand({ RequestItems: { [table]: [{ PutRequest: { Item: { id: { S: "b" }, code: { S: "mine" } } } }] } }));
  const one = await read("a");
  assert.match(one.code, /^INV-\d{6}$/);
  assert.deepEqual([one.number, await read("b")], [1, { id: "b", number: 2, code: "mine" }]);
  await own.send(new PutItemCommand({ TableName: table, Item: { id: { S: "c" }, code: { S: "mine" }, note: undefined, other: null } }));
  await own.send(new PutItemCommand({ TableName: table, Item: { id: { S: "d" }, code: null, number: undefined } }));
  assert.deepEqual(await read("c"), { id: "c", number: 3, code: "mine" });
  assert.deepEqual([(await read("d")).number, typeof (await read("d")).code], [4, "string"]);
  own.destroy();
});

test("a command whose item holds a function takes another number when it is sent again", async () => {
  const { table, documents, own, read } = await setUp();
  const command = new PutCommand({ TableName: table, Item: { id: "a", total() { return 0; } } });
  const numbers = [];
  for (let count = 0; count < 2; ++count) {
    await documents.send(command);
    numbers.push((await read("a")).number);
  }
  assert.deepEqual(numbers, [1, 2]);
  own.destroy();
});

test("a failed save leaves a gap", async () => {
  const { table, documents, own, read } = await setUp();
  const put = (id) => documents.send(new PutCommand({ TableName: table, Item: { id }, ConditionExpression: "attribute_not_exists(id)" }));
  await put("a");
  assert.equal((await errorOf(put("a"))).name, "ConditionalCheckFailedException");
  await put("b");
  assert.deepEqual([(await read("a")).number, (await read("b")).number], [1, 3]);
  own.destroy();
});

test("an item that got no ID gets one when it is sent again", async () => {
  let isDown = true;
  const { table, documents, own, read } = await setUp({ sequence: () => {
    if (isDown) throw new Error("down");
    return "again";
  } });
  const Item = { id: "a" };
  await assert.rejects(documents.send(new PutCommand({ TableName: table, Item })), /down/);
  isDown = false;
  await documents.send(new PutCommand({ TableName: table, Item }));
  assert.equal((await read("a")).number, 1);
  own.destroy();
});

test("an instance of a class, and a buffer: another number for each Put, the same for a command again", async () => {
  class Order { constructor(id) { this.id = id; } }
  const { table, documents, own, read } = await setUp({ fields: [{ field: "number", sequence: "instances" }, { field: "other", sequence: "others" }] });
  const sender = DynamoDBDocumentClient.from(own, { marshallOptions: { convertClassInstanceToMap: true } });
  sender.middlewareStack.use(seqd.dynamodb.plugin({ table, client, field: "third", sequence: "thirds" }));
  sender.middlewareStack.use(seqd.dynamodb.plugin({ table, client, field: "fourth", sequence: "fourths" }));
  const Item = new Order("a");
  await sender.send(new PutCommand({ TableName: table, Item }));
  Item.id = "b";
  const command = new PutCommand({ TableName: table, Item });
  await sender.send(command);
  await sender.send(command);
  assert.deepEqual([await read("a"), await read("b")],
    [1, 2].map((number) => ({ id: number === 1 ? "a" : "b", number, other: number, third: number, fourth: number })));
  const bytes = Buffer.from("x");
  const other = new PutCommand({ TableName: table, Item: { id: "c", bytes } });
  await documents.send(other);
  bytes[0] = 0x79;
  await documents.send(other);
  assert.deepEqual([(await read("c")).number, (await read("c")).other], [4, 4]);
  own.destroy();
});

test("the hook before a save, of any library", async () => {
  const number = seqd.dynamodb.beforeSave({ field: "number", sequence: "hook", client });
  const item = Object.freeze({ name: "Ada" });
  assert.deepEqual(await number(item), { name: "Ada", number: 1 });
  const numbered = { name: "Bob", number: 5 };
  assert.equal(await number(numbered), numbered);
  assert.deepEqual(await number({}), { number: 2 });
});

test("dynamoose: create, save and batchPut take an ID, an update takes none", async () => {
  const table = `Orders${++tables}`;
  await createTable(table, "id");
  const schema = new dynamoose.Schema({
    id: String, name: String,
    number: { type: Number, default: seqd.dynamodb.dynamooseDefault("moose", { client }) },
    code: { type: String, default: seqd.dynamodb.dynamooseDefault("invoices", { client, text: true }) },
  });
  const Order = dynamoose.model(table, schema, { create: false, waitForActive: false });
  new dynamoose.Table(table, [Order], { create: false, waitForActive: false });
  const one = await Order.create({ id: "a" });
  assert.equal(one.number, 1);
  assert.match(one.code, /^INV-\d{6}$/);
  one.name = "changed";
  await one.save();
  assert.equal((await Order.get("a")).number, 1);
  await Order.update({ id: "a" }, { name: "again" });
  await Order.update({ id: "none" }, { name: "made by an update" });
  assert.equal((await Order.get("none")).number, undefined);
  await Order.create({ id: "b", number: 50 });
  await Order.batchPut([{ id: "c" }, { id: "d" }]);
  const stored = Object.fromEntries((await Order.scan().exec()).map(({ id, number }) => [id, number]));
  assert.deepEqual([stored.a, stored.b, new Set([stored.c, stored.d])], [1, 50, new Set([2, 3])]);
});

test("options are checked at once", () => {
  for (const options of [undefined, {}, { field: "number", sequence: "orders" }, { table: "t", field: "n" }, { table: "t", field: "n", sequence: "s", colour: 1 }])
    assert.throws(() => seqd.dynamodb.plugin(options), { code: "ARGUMENT" });
  assert.throws(() => seqd.dynamodb.beforeSave({ field: "n" }), { code: "ARGUMENT" });
  const inside = { field: "billing.code", sequence: "s" };
  for (const options of [{ table: "t", ...inside }, { table: "t", fields: [inside] }]) assert.throws(() => seqd.dynamodb.plugin(options), /billing\.code/);
  assert.throws(() => seqd.dynamodb.beforeSave(inside), { code: "ARGUMENT" });
  assert.throws(() => seqd.dynamodb.dynamooseDefault(), { code: "ARGUMENT" });
});
