// The same for CommonJS.
import seqd = require("seqd");
import plugin = require("seqd/mongoose");
import dynamodb = require("seqd/dynamodb");

const client: seqd.Client = new seqd.Client();
const id: Promise<number> = client.next("orders");
const hook = dynamodb.beforeSave({ field: "number", sequence: "orders", client });
const same: typeof seqd.mongoose = plugin;
const options: plugin.MongooseOptions = { field: "number", sequence: "orders" };
console.log(id, hook, same, options);
