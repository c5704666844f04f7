import seqd from "./index.js";

export const {
  Client, defaultClient, mongoose, dynamodb,
  SeqdError, RequestError, DaemonError, OutcomeUnknownError, ConnectError, TimeoutError,
  ProtocolError, ArgumentError, ClosedError, FullError, UnsafeIdError,
} = seqd;
export default seqd;
