import * as seqd from "./index.js";
export * from "./index.js";
export default seqd;
