// Takes IDs of a sequence: next.mjs [SEQUENCE [COUNT]]
//   make pack-node; npm install build/clients/seqd-VERSION.tgz beside this file; SEQD_SOCKET=build/run/seqd.sock node next.mjs orders 3
import { Client, SeqdError } from "seqd";

const [name = "orders", count = "1"] = process.argv.slice(2);
const client = new Client({ name: "next.mjs" });
try {
  for (const id of await client.nextMany(name, Number(count))) console.log(id);
} catch (error) {
  if (!(error instanceof SeqdError)) throw error;
  console.error(`next.mjs: ${error.message}`);
  process.exitCode = error.temporary ? 75 : 1;
}
await client.close();
