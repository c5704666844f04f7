import plugin from "./index.js";

export const mongoose = plugin;
export default plugin;
