"use strict";
// Each way of writing in ways/dynamodb.json, with the document client and the client of aws-sdk v3, on
// DynamoDB Local: the cell says what really happens. The README's table is made of the same file.
const { describe, test, before, after } = require("node:test");
const assert = require("node:assert/strict");
const low = require("@aws-sdk/client-dynamodb");
const high = require("@aws-sdk/lib-dynamodb");
const seqd = require("../lib/index.js");
const table = require("./ways/dynamodb.json");
const { Daemon } = require("./support/daemon.js");
const { startServers } = require("./support/servers.js");
const { assertReadme } = require("./support/ways.js");

let daemon;
let client;
let servers;
let settings;
let plain;

before(async () => {
  servers = await startServers("dynamo");
  settings = { endpoint: servers.dynamo, region: "us-east-1", credentials: { accessKeyId: "seqdtest", secretAccessKey: "seqdtest" } };
  plain = new low.DynamoDBClient(settings);
  daemon = await new Daemon({ sequences: { "*": {} } }).start();
  client = daemon.client();
});
after(async () => {
  plain?.destroy();
  await client?.close();
  await daemon?.close();
  await servers?.end();
});

const SETS = { UpdateExpression: "SET n = :n" };

/** What each kind of client has of its own: the client, its commands, and its form of a value. */
const KINDS = {
  documents: () => {
    const own = new low.DynamoDBClient(settings);
    const commands = {
      Put: high.PutCommand, BatchWrite: high.BatchWriteCommand, TransactWrite: high.TransactWriteCommand, Update: high.UpdateCommand,
      Execute: high.ExecuteStatementCommand,
    };
    return { own, sender: high.DynamoDBDocumentClient.from(own), commands, form: (value) => value };
  },
  low: () => {
    const own = new low.DynamoDBClient(settings);
    const commands = {
      Put: low.PutItemCommand, BatchWrite: low.BatchWriteItemCommand, TransactWrite: low.TransactWriteItemsCommand, Update: low.UpdateItemCommand,
      Execute: low.ExecuteStatementCommand,
    };
    return { own, sender: own, commands, form: (value) => (typeof value === "number" ? { N: String(value) } : { S: value }) };
  },
};

/** One function for each row. It gives the number of IDs that were taken, if that is not one for each item. */
const WAYS = {
  "Put": async ({ send, item, name }) => { for (const id of ["a", "b"]) await send("Put", { TableName: name, Item: item(id) }); },
  "Put-again": async ({ sender, commands, item, name, read }) => {
    const command = new commands.Put({ TableName: name, Item: item("a") });
    await sender.send(command);
    await Promise.all([sender.send(command), sender.send(command)]);
    assert.equal((await read("a")).number.N, "1");
    return 1;
  },
  "Put-again-changed": async ({ sender, commands, item, form, name }) => {
    const Item = item("a");
    const command = new commands.Put({ TableName: name, Item });
    await sender.send(command);
    Item.id = form("b");
    await sender.send(command);
  },
  "Put-object": async ({ send, item, form, name }) => {
    const Item = item("none");
    const sent = ["a", "b", "c"].map((id) => {
      Item.id = form(id);
      return send("Put", { TableName: name, Item });
    });
    await Promise.all(sent);
    if (typeof Item.id !== "string") {
      Item.id.S = "d";
      await send("Put", { TableName: name, Item });
    }
  },
  // DynamoDB Local knows names only: it gets one behind the plugin.
  "Put-ARN": ({ sender, send, item, name }) => {
    const toName = (next) => (args) => next({ ...args, input: { ...args.input, TableName: name } });
    sender.middlewareStack.add(toName, { step: "initialize", priority: "low" });
    return send("Put", { TableName: `arn:aws:dynamodb:us-east-1:000000000000:table/${name}`, Item: item("a") });
  },
  "BatchWrite": ({ send, item, name }) => send("BatchWrite", { RequestItems: { [name]: ["a", "b", "c"].map((id) => ({ PutRequest: { Item: item(id) } })) } }),
  "TransactWrite": ({ send, item, name }) => send("TransactWrite", { TransactItems: ["a", "b"].map((id) => ({ Put: { TableName: name, Item: item(id) } })) }),
  "Update": ({ send, form, name }) => send("Update", { TableName: name, Key: { id: form("a") }, ...SETS, ExpressionAttributeValues: { ":n": form(1) } }),
  "TransactWrite-Update": ({ send, form, name }) =>
    send("TransactWrite", { TransactItems: [{ Update: { TableName: name, Key: { id: form("a") }, ...SETS, ExpressionAttributeValues: { ":n": form(1) } } }] }),
  "ExecuteStatement": ({ send, name }) => send("Execute", { Statement: `INSERT INTO "${name}" VALUE {'id': 'a'}` }),
};

for (const [kind, title] of Object.entries(table.columns)) {
  describe(title, () => {
    for (const row of table.rows) {
      test(`${row.id}: ${row.way}`, async () => {
        const name = `Ways-${kind}-${row.id}`;
        await plain.send(new low.CreateTableCommand({
          TableName: name, BillingMode: "PAY_PER_REQUEST",
          AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }], KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
        }));
        const { own, sender, commands, form } = KINDS[kind]();
        sender.middlewareStack.use(seqd.dynamodb.plugin({ table: name, field: "number", sequence: name, client }));
        const send = (command, input) => sender.send(new commands[command](input));
        const item = (id) => ({ id: form(id) });
        const read = async (id) => (await plain.send(new low.GetItemCommand({ TableName: name, Key: { id: { S: id } }, ConsistentRead: true }))).Item;
        const taken = await WAYS[row.id]({ send, sender, commands, form, item, name, read });
        const { Items } = await plain.send(new low.ScanCommand({ TableName: name, ConsistentRead: true }));
        own.destroy();
        assert.ok(Items.length > 0, "nothing was stored");
        const numbers = Items.map(({ number }) => number?.N);
        const outcome = numbers.every((number) => number === undefined) ? "none" : "number";
        assert.equal(outcome, row[kind]);
        if (outcome === "none") return;
        assert.deepEqual(numbers.sort(), Array.from({ length: Items.length }, (_, index) => String(index + 1)));
        assert.equal((await client.peek(name)).last, typeof taken === "number" ? taken : Items.length);
      });
    }
  });
}

test("each way has its row, and each row its way", () => {
  assert.deepEqual(table.rows.map(({ id }) => id), Object.keys(WAYS));
});

test("the README has the table", () => assertReadme("dynamodb", table));
