// Starts the browser that its argument names and prints the address at which other scripts use it,
// until standard input ends. Each of them gets profiles of its own.

import { browserType, launchOptions } from "./browsers.mjs";

const [name] = process.argv.slice(2);
const server = await browserType(name).launchServer(launchOptions(name));
console.log(server.wsEndpoint());
process.stdin.resume().on("end", () => server.close());
server.on("close", () => process.exit());
