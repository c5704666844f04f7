import mongoosePlugin = require("./mongoose.js");
import dynamodbHelpers = require("./dynamodb.js");

declare global {
  // As @types/node has it; both may be there.
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

type Id<B extends boolean> = B extends true ? bigint : number;

/** IDs with a constant step, in the order of issue: first, first + step, ... */
export interface Run<I extends number | bigint = number> {
  first: I;
  /** How many. */
  count: number;
  step: I;
}

/** What a text of a sequence means. */
export interface Parsed<I extends number | bigint = number> {
  number: I;
  /** The date of the text in ISO 8601, as precise as the text is; null if it has none. */
  period: string | null;
  date: Partial<Record<
    "year" | "month" | "day" | "day_of_year" | "week_year" | "week" | "weekday" | "hour" | "minute" | "second", number>>;
  /** The kind of the check digits, which are valid; null if the format has none. */
  check: string | null;
}

export interface Peeked<I extends number | bigint = number> {
  /** The ID that would be issued next, as far as it is known. */
  next: I | null;
  /** IDs that the daemon can issue without a lease. */
  available: number;
  /** The last ID that this daemon issued. */
  last: I | null;
}

/** What a number of a register belongs to: a text of at most 256 bytes, an ObjectId or a UUID of bson, or the 12 or 16 bytes of one. */
export type Key = string | Uint8Array | { readonly id: Uint8Array };

/** When it was done, and by HOST:USER:PROCESS. */
export interface Stamp { at: Date; by: string | null }

/** A number of a register. */
export interface RegisterRecord<I extends number | bigint = number> {
  number: I;
  /** As the `format` of the register wrote it when it was first assigned. */
  text: string;
  /** "2026"; null: the register has none. */
  period: string | null;
  /** "assigned", "confirmed", "void": cancelled for good, or "free": cancelled, and the next key can get it. */
  state: string;
  /** null if it is void or free. */
  key: string | null;
  assigned: Stamp;
  confirmed: Stamp | null;
  /** The keys that it was cancelled for. Without a key: lost when the store was restored. */
  former: { key: string | null; assigned: Stamp; cancelled: Stamp; reason: string | null }[];
}

/** The result of `status`; section 11 of the protocol has all keys. */
export interface Status {
  version: string;
  pid: number;
  instance: string;
  uptime_ms: number;
  state_how: string;
  connections: number;
  requests: number;
  issued: number;
  sequences: number;
  /** IDs in blocks of clients, which may be taken already. */
  out: number;
  waiting: number;
  /** Sequences that come to their end: IDs that are left to lease, and for how many days they will do. */
  ending: { name: string; left: number | bigint | null; days_left: number | null }[];
  stores: { name: string; type: string; state: string; error: string | null; lease_mode: string | null }[];
  log: { position: number; syncs: number; rotations: number };
  /** How long the available IDs of the sequence that has them shortest last at its rate; null: not known. */
  runway_ms: number | null;
  runway_sequence: string | null;
  /** Since the daemon started: ranges leased, IDs that became a gap, replies that were an error. */
  leases: number;
  gaps: number;
  errors: number;
  [key: string]: unknown;
}

export interface CallOptions {
  /** Milliseconds of the whole call, reconnecting included: above 0, at most 3,600,000. Default: the client's, 5,000. */
  timeout?: number;
  /** Ends the call; its promise is rejected with the reason of the signal, that of an insert which was sent with an
   * OutcomeUnknownError. An ID that was issued meanwhile becomes a gap. */
  signal?: AbortSignal;
  /** true: IDs are BigInt. false, the default: numbers; an ID that a number cannot hold is an UnsafeIdError. */
  bigint?: boolean;
}

export interface InsertOptions extends CallOptions {
  /** A field of the document with a unique index of its own: the insert is repeated when a connection is lost. */
  unique?: string;
}

export interface KeyOptions extends CallOptions {
  /** Only if that is the number of the key. A cancel with it is repeated when a connection is lost. */
  number?: number | bigint;
}

export interface RecordsOptions extends CallOptions {
  /** Only those in this state. */
  state?: "assigned" | "confirmed" | "void" | "free";
}

export interface ClientOptions {
  /** The path of the daemon's socket. Default: the environment's SEQD_SOCKET, then /run/seqd.sock. */
  socket?: string;
  /** The application's name for the daemon's lists, at most 64 bytes. */
  name?: string;
  /** The default of CallOptions.timeout. */
  timeout?: number;
  /** The default of CallOptions.bigint. */
  bigint?: boolean;
  /** How many IDs of each sequence are fetched before next() is called, 1 .. 1,000,000: next() then takes them without a request,
   * unless the sequence has periods. Fetched IDs that the program has not used when it ends (close(), exit, kill) are lost and
   * count as issued to it. Default 0: off. */
  ahead?: number;
  /** Calls that may wait at a time, above which a call is a FullError. Default 100,000. */
  maxPending?: number;
}

type Big = CallOptions & { bigint: true };
type Small = CallOptions & { bigint: false };

/** The methods of the daemon. Every promise is rejected with a SeqdError, or with the reason of its signal. Calls of one turn of
 * the event loop leave in one write; replies are awaited in any order. */
export interface Calls<B extends boolean = false> {
  /** One ID of the sequence. */
  next(name: string, options: Big): Promise<bigint>;
  next(name: string, options: Small): Promise<number>;
  next(name: string, options?: CallOptions): Promise<Id<B>>;
  /** `count` IDs as runs, or none. The count is 1 .. 10,000,000, and at most the daemon's limit (100,000). */
  range(name: string, count: number, options: Big): Promise<Run<bigint>[]>;
  range(name: string, count: number, options: Small): Promise<Run<number>[]>;
  range(name: string, count: number, options?: CallOptions): Promise<Run<Id<B>>[]>;
  /** The same, one by one. */
  nextMany(name: string, count: number, options: Big): Promise<bigint[]>;
  nextMany(name: string, count: number, options: Small): Promise<number[]>;
  nextMany(name: string, count: number, options?: CallOptions): Promise<Id<B>[]>;
  /** One ID as the text that the option `format` of the sequence describes. */
  nextText(name: string, options?: CallOptions): Promise<string>;
  /** What such a text means; issues nothing. */
  parse(name: string, text: string, options: Big): Promise<Parsed<bigint>>;
  parse(name: string, text: string, options: Small): Promise<Parsed<number>>;
  parse(name: string, text: string, options?: CallOptions): Promise<Parsed<Id<B>>>;
  /** Inserts the document, without `_id`, into the collection of a sequence with `mode = "insert"`, and gives its `_id`. Without
   * `unique` it is never sent twice: an OutcomeUnknownError says that it may have been inserted. Values are plain ones, Uint8Array
   * and Date; fields that are undefined are left out. */
  insert(name: string, document: Record<string, unknown>, options: InsertOptions & { bigint: true }): Promise<bigint>;
  insert(name: string, document: Record<string, unknown>, options: InsertOptions & { bigint: false }): Promise<number>;
  insert(name: string, document: Record<string, unknown>, options?: InsertOptions): Promise<Id<B>>;
  /** The number of the key in a register (`mode = "register"`, "invoices" or "invoices@2025"); if it has none, the next one. One key has
   * one number: asking again, after any error, gives the same. */
  assign(name: string, key: Key, options: Big): Promise<RegisterRecord<bigint>>;
  assign(name: string, key: Key, options: Small): Promise<RegisterRecord<number>>;
  assign(name: string, key: Key, options?: CallOptions): Promise<RegisterRecord<Id<B>>>;
  /** Says that the document of the key is saved: its number cannot be cancelled any more. */
  confirm(name: string, key: Key, options?: KeyOptions): Promise<RegisterRecord<Id<B>>>;
  /** Takes the number from the key, whose document was not saved and will not be, for a reason that is kept. Without the option
   * `number` it is never sent twice: an OutcomeUnknownError says that it may have been cancelled. */
  cancel(name: string, key: Key, reason: string, options?: KeyOptions): Promise<RegisterRecord<Id<B>>>;
  /** The records of a period, in the order of the numbers; asked for in pages. Administrators see all, others what they assigned. */
  records(name: string, options?: RecordsOptions): AsyncGenerator<RegisterRecord<Id<B>>, void, undefined>;
  /** What would come next; issues nothing. */
  peek(name: string, options: Big): Promise<Peeked<bigint>>;
  peek(name: string, options: Small): Promise<Peeked<number>>;
  peek(name: string, options?: CallOptions): Promise<Peeked<Id<B>>>;
  status(options?: CallOptions): Promise<Status>;
  /** Any method except hello, ack, insert and cancel. It is sent again after a lost connection. In its result, integers that a number
   * cannot hold are BigInt. */
  call(method: string, ...params: unknown[]): Promise<unknown>;
  /** The same calls with other default options, on the same connection. */
  with<C extends boolean = B>(options: CallOptions & { bigint?: C }): Calls<C>;
}

/** A client of the daemon: one connection, which is made when needed and again when it is lost. Requests in flight are repeated
 * with their numbers, so that a restart of the daemon costs no ID. One for each process (and each worker thread) is enough. An idle
 * client does not keep the process alive; a call that waits does. */
export class Client<B extends boolean = false> implements Calls<B> {
  /** Throws an ArgumentError. Does not connect yet. */
  constructor(options?: ClientOptions & { bigint?: B });
  /** Calls that wait. */
  readonly pending: number;
  /** No further calls; fulfilled when all that wait have ended and the connection is closed. */
  close(): Promise<void>;
  /** The same at once: calls that wait are rejected with a ClosedError. */
  destroy(): Promise<void>;
  /** close(), for `await using`. Where this Node has the symbol. */
  [Symbol.asyncDispose](): Promise<void>;
}
export interface Client<B extends boolean = false> extends Calls<B> {}

/** The client that the plugins use if none is given, with the default options; made when first needed. */
export function defaultClient(): Client;

/** Every error of this package. */
export class SeqdError extends Error {
  /** For programs: a code of section 4 of the protocol, or CONNECT, TIMEOUT, PROTOCOL, ARGUMENT, CLOSED, FULL, UNSAFE_ID. */
  readonly code: string;
  /** For people. */
  readonly text: string;
  /** The same call can succeed later with nothing changed. */
  readonly temporary: boolean;
}
/** The daemon refused the request: it is wrong, or not permitted. */
export class RequestError extends SeqdError {}
/** The daemon, its store or its configuration is at fault. */
export class DaemonError extends SeqdError {}
/** It is not known whether a document was inserted, or a number cancelled: look for it first. */
export class OutcomeUnknownError extends DaemonError {}
/** No daemon answered at the socket within the time. */
export class ConnectError extends SeqdError {}
/** The daemon is there and did not reply within the time. */
export class TimeoutError extends SeqdError {}
/** What is at the socket does not speak the protocol. */
export class ProtocolError extends SeqdError {}
/** The call itself is wrong; nothing was sent. */
export class ArgumentError extends SeqdError {}
/** The client was closed. */
export class ClosedError extends SeqdError {}
/** More calls wait than maxPending. */
export class FullError extends SeqdError {}
/** A number cannot hold the ID, or an ID of the runs, exactly: use the option bigint. It was issued. */
export class UnsafeIdError extends SeqdError {
  readonly result: bigint | Run<bigint>[];
}

export const mongoose: typeof mongoosePlugin;
export const dynamodb: typeof dynamodbHelpers;
