"use strict";
// Paths with dots in plain objects: "billing.number". Objects on the way are copied when a value is
// set, as they may be shared with other records.

/** The value at the path; also that of a key which has dots itself. */
function getAt(record, path) {
  if (Object.hasOwn(record, path)) return record[path];
  let value = record;
  for (const key of path.split(".")) {
    if (value === null || typeof value !== "object") return undefined;
    value = value[key];
  }
  return value;
}

function setAt(record, path, value) {
  if (Object.hasOwn(record, path)) {
    record[path] = value;
    return;
  }
  const keys = path.split(".");
  const last = keys.pop();
  let place = record;
  for (const key of keys) {
    place[key] = { ...place[key] };
    place = place[key];
  }
  place[last] = value;
}

module.exports = { getAt, setAt };
