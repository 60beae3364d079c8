// The official TypeScript client, headless: steps in, one JSON line per step out.
//   node ts_client.mjs [--sdk 2|1] [--mode auto|legacy|2026-07-28] URL | --stdio COMMAND ARGS...
// Steps, a JSON list on stdin: {"info": true}, {"list": true}, {"call": {"name": ..., "arguments": ...}}, and for 1.x
// {"task": {"name": ..., "arguments": ...}}: the call as a task, polled to its end; the result lists what was heard.
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

// The packages live in .parts, not beside this file.
const require = createRequire(new URL("../../.parts/node/package.json", import.meta.url));

function readCommandLine(words) {
  const options = { sdk: "2", mode: "auto", url: null, command: null };
  while (words.length > 0) {
    const word = words.shift();
    if (word === "--sdk") options.sdk = words.shift();
    else if (word === "--mode") options.mode = words.shift();
    else if (word === "--stdio") options.command = words.splice(0);
    else options.url = word;
  }
  return options;
}

function loadSdk(version) {
  if (version === "2") {
    const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
    return { Client, StreamableHTTPClientTransport, ...require("@modelcontextprotocol/client/stdio") };
  }
  return {
    ...require("@modelcontextprotocol/sdk/client/index.js"),
    ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    ...require("@modelcontextprotocol/sdk/client/stdio.js"),
  };
}

function openTransport(sdk, { url, command }) {
  if (command === null) return new sdk.StreamableHTTPClientTransport(new URL(url));
  const [program, ...args] = command;
  return new sdk.StdioClientTransport({ command: program, args, env: process.env, stderr: "inherit" });
}

async function take(client, step) {
  if (step.list) return await client.listTools();
  if (step.call) return await client.callTool(step.call);
  if (step.task) return await heard(client.experimental.tasks.callToolStream(step.task, undefined, { task: { ttl: 60000 } }));
  return {
    serverInfo: client.getServerVersion(),
    protocolVersion: client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion ?? null,
  };
}

async function heard(stream) {
  const messages = [];
  for await (const message of stream) messages.push(message.error ? failure(message.error) : message);
  return messages;
}

function print(line) {
  process.stdout.write(JSON.stringify(line) + "\n");
}

function failure({ code, message, data }) {
  return { error: { code, message, ...(data === undefined ? {} : { data }) } };
}

const options = readCommandLine(process.argv.slice(2));
const steps = JSON.parse(await text(process.stdin));
const sdk = loadSdk(options.sdk);
const mode = ["auto", "legacy"].includes(options.mode) ? options.mode : { pin: options.mode };
const client = new sdk.Client({ name: "ts-client", version: "1" }, { versionNegotiation: { mode } });
try {
  await client.connect(openTransport(sdk, options));
} catch (error) {
  print(failure(error));
  process.exit(1);
}
for (const step of steps) {
  try {
    print({ result: await take(client, step) });
  } catch (error) {
    print(failure(error));
  }
}
await client.close();
