// A reporter of node's test runner that prints what failed, what tests tell, and the closing line
// "N passed, N failed" which tests/summary.py counts. A skipped test counts as failed.
import { relative } from "node:path";

const place = ({ file, line }) => (file === undefined ? "" : ` (${relative(process.cwd(), file)}${line === undefined ? "" : `:${line}`})`);

export default async function* reporter(events) {
  let passed = 0;
  let failed = 0;
  for await (const { type, data } of events) {
    if (type === "test:pass" && data.details.type !== "suite") {
      if (data.skip === undefined && data.todo === undefined) ++passed;
      else {
        ++failed;
        yield `skipped: ${data.name}${place(data)}\n`;
      }
    } else if (type === "test:fail") {
      const { error, type: kind } = data.details;
      // That something inside of it failed was said already.
      if (error.failureType === "subtestsFailed") continue;
      if (kind !== "suite" || error.failureType === "hookFailed") ++failed;
      yield `FAILED: ${data.name}${place(data)}\n${(error.cause?.stack ?? error.cause ?? error.stack ?? String(error))}\n`;
    } else if (type === "test:diagnostic" && /\d (IDs|bytes)|bytes/.test(data.message)) {
      yield `${data.message}\n`;
    } else if (type === "test:stderr") {
      yield data.message;
    }
  }
  yield `${passed} passed, ${failed} failed\n`;
}
