import dynamodb from "./index.js";

export const { beforeSave, plugin, dynamooseDefault } = dynamodb;
export default dynamodb;
