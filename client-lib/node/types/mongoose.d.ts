import type { FieldOptions as OneField, NumberingOptions } from "./numbering.js";

/** A plugin for schemas of mongoose 8 and up: `schema.plugin(mongoose, { field: "number", sequence: "orders" })`. A new document
 * gets an ID before its first save: with save(), create(), bulkSave(), insertMany() and the insertOne of bulkWrite(), also in
 * transactions. Upserts get none. In insertMany() and bulkWrite() the array gets copies of plain objects. A field that the schema
 * does not have is added. The ID is taken after the validation, or before it if the field is required and in insertMany() and
 * bulkWrite(). If the save fails, its ID is a gap unless the same document is saved again. */
declare function mongoose(schema: any, options: mongoose.MongooseOptions): void;
declare namespace mongoose {
  type FieldOptions = OneField;
  type MongooseOptions = NumberingOptions;
  const mongoose: (schema: any, options: MongooseOptions) => void;
}
export = mongoose;
