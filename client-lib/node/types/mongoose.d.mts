import mongoosePlugin from "./mongoose.js";
export type MongooseOptions = mongoosePlugin.MongooseOptions;
export const mongoose: typeof mongoosePlugin;
export default mongoosePlugin;
