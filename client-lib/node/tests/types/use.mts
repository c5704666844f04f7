// Compiled by tsc --strict, never run: what a program in TypeScript writes.
import seqdDefault, { Client, SeqdError, UnsafeIdError, defaultClient, dynamodb, mongoose as exported } from "seqd";
import type { Calls, RegisterRecord, Run, Status } from "seqd";
import plugin, { mongoose as named } from "seqd/mongoose";
import { beforeSave, dynamooseDefault, plugin as dynamoPlugin } from "seqd/dynamodb";
import mongoose from "mongoose";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";

const client = new Client({ socket: "/run/seqd.sock", name: "shop", timeout: 500 });
const id: number = await client.next("orders");
const big: bigint = await client.next("orders", { bigint: true });
const ids: number[] = await client.nextMany("orders", 3, { signal: AbortSignal.timeout(10) });
const runs: Run[] = await client.range("orders", 3);
const text: string = await client.nextText("invoices");
const last: number | null = (await client.peek("orders")).last;
const year: number | undefined = (await client.parse("invoices", text)).date.year;
const bigs = new Client({ bigint: true });
const other: bigint = await bigs.next("orders");
const small: number = await bigs.with({ bigint: false }).next("orders");
const view: Calls = client.with({ timeout: 10 });
const answer: unknown = await view.call("explain", "orders", id);
const inserted: number = await client.insert("people", { name: "Ada" }, { unique: "name" });
const assigned: RegisterRecord = await client.assign("invoices", new mongoose.Types.ObjectId());
const assignedBig: bigint = (await bigs.confirm("invoices", Buffer.alloc(16), { number: assigned.number })).number;
const void_: string = (await client.cancel("invoices", "key", "a reason", { number: assignedBig })).state;
for await (const record of client.records("invoices@2026", { state: "assigned" })) console.log(record.assigned.at.getTime(), void_);
const status: Status = await defaultClient().status();
const version: string = status.version;
const runway: number | null = status.runway_ms;
const gaps: number = status.gaps + status.leases + status.errors + status.log.syncs;
await new seqdDefault.Client().close();
try {
  await client.next("orders");
} catch (error) {
  if (error instanceof UnsafeIdError) console.log(error.result);
  if (error instanceof SeqdError && error.temporary) console.log(error.code, error.text);
}

const schema = new mongoose.Schema<{ tenant: string; number?: number }>({ tenant: String, number: Number });
schema.plugin(plugin, { field: "number", sequence: "orders", client });
schema.plugin(named, { field: "number", sequence: (order: { tenant: string }) => `orders.${order.tenant}`, text: true });
schema.plugin(seqdDefault.mongoose, { fields: [{ field: "number", sequence: "orders" }], client: bigs });
schema.plugin(exported, { field: "number", sequence: "orders" });
schema.plugin(plugin, { field: "number", sequence: "invoices", register: true });
// @ts-expect-error: a reason is missing
await client.cancel("invoices", "key");
// @ts-expect-error: the sequence is missing
schema.plugin(plugin, { field: "number" });

const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
documents.middlewareStack.use(dynamoPlugin({ table: "Orders", field: "number", sequence: "orders" }));
documents.middlewareStack.use(dynamodb.plugin({ table: "Orders", fields: [{ field: "number", sequence: "orders" }] }));
const number: () => Promise<number> = dynamooseDefault("orders");
const item = await beforeSave<{ name: string }>({ field: "number", sequence: "orders" })({ name: "Ada" });
console.log(item.name, item["number"]);

// @ts-expect-error: a number is not a name
await client.next(1);
// @ts-expect-error: there is no such option
await client.next("orders", { patience: 1 });
// @ts-expect-error: it is a bigint
const wrong: number = await bigs.next("orders");
// @ts-expect-error: a plugin of a table needs the table
dynamoPlugin({ field: "number", sequence: "orders" });
{
  await using scoped = new Client();
  await scoped.next("orders");
}
console.log(big, ids, runs, last, year, other, small, answer, inserted, version, number, wrong);
