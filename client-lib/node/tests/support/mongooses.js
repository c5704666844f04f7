"use strict";
// The versions of mongoose that this Node runs: [what the test is called, the name of the package].
const MONGOOSES = [["mongoose 7", "mongoose7"], ["mongoose 8", "mongoose"]];
// It says itself that it needs Node 20.19.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major > 20 || (major === 20 && minor >= 19)) MONGOOSES.push(["mongoose 9", "mongoose9"]);

module.exports = { MONGOOSES };
