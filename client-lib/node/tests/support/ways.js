"use strict";
// The tables of ways to write in the README, which are made of tests/ways/*.json:
//
//   node tests/support/ways.js    writes them
const assert = require("node:assert/strict");
const { readFileSync, writeFileSync } = require("node:fs");
const path = require("node:path");

const README = path.resolve(__dirname, "../../README.md");

const lineOf = (cells) => `| ${cells.join(" | ")} |`;

/** The lines of the table as Markdown: rows with the same cells are one line each. */
function markdownOf({ columns, rows }) {
  const lines = [lineOf(["way of writing", ...Object.values(columns)]), `|${"---|".repeat(1 + Object.keys(columns).length)}`];
  for (const row of rows) lines.push(lineOf([row.way, ...Object.keys(columns).map((column) => row[column])]));
  return lines.join("\n");
}

const placeOf = (name) => new RegExp(`(?<=<!-- ways: ${name} -->\n\n)[^]*?(?=\n\n<!-- end -->)`);

function assertReadme(name, table) {
  const found = placeOf(name).exec(readFileSync(README, "utf8"));
  assert.ok(found !== null, `the README has no table ${name}`);
  assert.equal(found[0], markdownOf(table), "run: node tests/support/ways.js");
}

/** The values at `field` in the record, or in its parts. */
function valuesAt(record, field) {
  const { parts, one, list, outer, named } = record;
  const found = [parts, one, list, outer, named && Object.values(named)].filter((part) => part !== undefined).flat();
  if (found.length > 0) return found.flatMap((part) => valuesAt(part, field));
  return [field.split(".").reduce((value, key) => value?.[key], record)];
}

if (require.main === module) {
  let text = readFileSync(README, "utf8");
  for (const name of ["mongoose", "dynamodb"]) text = text.replace(placeOf(name), () => markdownOf(require(`../ways/${name}.json`)));
  writeFileSync(README, text);
}

module.exports = { assertReadme, valuesAt };
