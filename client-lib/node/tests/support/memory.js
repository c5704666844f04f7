"use strict";
// Takes IDs for a while and prints the bytes of the heap between rounds: memory.js SOCKET CALLS ROUNDS AHEAD
const seqd = require("../../lib/index.js");

async function main(socket, calls, rounds, ahead) {
  const client = new seqd.Client({ socket, timeout: 60_000, ahead });
  const abort = new AbortController();
  const bytes = [];
  for (let round = 0; round < rounds; ++round) {
    let left = calls;
    const call = (one) => {
      if (one % 1_000 === 1) return client.nextText("invoices");
      if (one % 1_000 === 2) return client.next(`orders.${one}`, { signal: abort.signal }); // a name for each tenant
      if (one % 1_000 === 3) return client.next("no name").catch(() => {});
      if (one % 1_000 === 4) return client.nextMany("orders", 10);
      return client.next("orders");
    };
    await Promise.all(Array.from({ length: 100 }, async () => { while (left > 0) await call(left--); }));
    global.gc();
    bytes.push(process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers);
  }
  await client.close();
  process.stdout.write(JSON.stringify(bytes));
}

if (require.main === module) main(process.argv[2], Number(process.argv[3]), Number(process.argv[4]), Number(process.argv[5]));
