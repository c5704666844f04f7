import type { FieldOptions as OneField } from "./numbering.js";

/** A plugin for schemas of mongoose 7, 8 and 9: `schema.plugin(mongoose, { field: "number", sequence: "orders" })`. A new document
 * gets an ID before its first save: with save(), create(), bulkSave(), insertMany(), bulkWrite() and upserts, also in transactions.
 * The README has a table of all ways to write. The ID of an upsert is a gap if the upsert finds its document; a replacement without
 * the number, also one without upsert, and an upsert that is a pipeline are an ArgumentError. A field that the schema does not have is
 * added. The ID is taken after the validation, or before it if the field is required and in insertMany() and bulkWrite(). If the save
 * fails, its ID is a gap unless the same document is saved again. The callers' arrays and plain objects stay as they are. */
declare function mongoose(schema: any, options: mongoose.MongooseOptions): void;
declare namespace mongoose {
  interface FieldOptions extends OneField {
    /** true: the sequence is a register, and the key is the _id: each attempt to save a document gives it the same number. What has no
     * _id before it is saved, and upserts, are an ArgumentError. */
    register?: boolean;
  }
  type MongooseOptions = FieldOptions | { fields: FieldOptions[]; client?: FieldOptions["client"] };
  const mongoose: (schema: any, options: MongooseOptions) => void;
}
export = mongoose;
