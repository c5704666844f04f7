import type { FieldOptions as OneField, NumberingOptions } from "./numbering.js";

declare namespace dynamodb {
  type FieldOptions = OneField;
  type DynamoOptions = NumberingOptions & {
    /** The table whose items get IDs. A `field` is an attribute of the item: one with a dot is an ArgumentError. */
    table: string;
  };

  /** A function for the hook before a save: gives the item with its IDs, a copy unless it had all of them. */
  function beforeSave<Item extends object>(options: NumberingOptions): (item: Item) => Promise<Item & Record<string, unknown>>;

  /** A plugin for aws-sdk v3: `docClient.middlewareStack.use(plugin({ table: "Orders", field: "number", sequence: "orders" }))`.
   * Items of Put, BatchWrite and TransactWrite get an ID before they are sent; the caller's objects are not changed. A command
   * that is sent again with its input unchanged, and without functions in it, keeps its IDs; another command of the same item takes
   * others. Update and PartiQL take none. */
  function plugin(options: DynamoOptions): { applyToStack(stack: any): void };

  /** A default value for an attribute of a schema of dynamoose: `{ type: Number, default: dynamooseDefault("orders") }`. */
  function dynamooseDefault(
    sequence: string | (() => string | Promise<string>),
    options: Pick<OneField, "client"> & { text: true },
  ): () => Promise<string>;
  function dynamooseDefault(
    sequence: string | (() => string | Promise<string>),
    options?: Pick<OneField, "client"> & { text?: false },
  ): () => Promise<number>;
}
export = dynamodb;
