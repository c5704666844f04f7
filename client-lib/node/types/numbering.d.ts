import type { Calls } from "./index.js";

export interface FieldOptions<Record = any> {
  /** The field that gets the ID. It keeps a value that it has; undefined, null and "" are none. */
  field: string;
  /** The name of the sequence, or a function of the record that gives it: `(order) => `orders.${order.tenant}``. A name with undefined,
   * null, NaN or nothing between its dots is an ArgumentError: the record lacks a value. */
  sequence: string | ((record: Record) => string | Promise<string>);
  /** true: the ID as text (nextText). Default: a number. */
  text?: boolean;
  /** true: a BigInt. Default: false, for mongoose true where the schema says BigInt. */
  bigint?: boolean;
  /** Default: defaultClient(). */
  client?: Pick<Calls<boolean>, "next" | "nextMany" | "nextText"> & Partial<Pick<Calls<boolean>, "assign">>;
}

export type NumberingOptions<Record = any> =
  | FieldOptions<Record>
  | { fields: FieldOptions<Record>[]; client?: FieldOptions["client"] };
