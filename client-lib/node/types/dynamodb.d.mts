import dynamodb from "./dynamodb.js";
export import beforeSave = dynamodb.beforeSave;
export import plugin = dynamodb.plugin;
export import dynamooseDefault = dynamodb.dynamooseDefault;
export type DynamoOptions = dynamodb.DynamoOptions;
export default dynamodb;
