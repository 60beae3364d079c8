// @modelcontextprotocol/sdk 1.x with somebody who answers questions: the steps of asking_client.py.
//   node asking_client.mjs URL | COMMAND ARGS...
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

const require = createRequire(new URL("../../../../.parts/node/package.json", import.meta.url));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const types = require("@modelcontextprotocol/sdk/types.js");

const heard = [];
let wake = () => {};
const hear = (what) => { heard.push(what); wake(); };
let hangs = false;
let asked = () => {};

const client = new Client(
  { name: "asking", version: "1" },
  { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
);
client.setRequestHandler(types.ElicitRequestSchema, async (request) => {
  asked();
  if (hangs) await new Promise(() => {});
  const wanted = Object.entries(request.params.requestedSchema.properties);
  const values = { integer: request.params.message.length, boolean: true };
  return { action: "accept", content: Object.fromEntries(wanted.map(([name, { type }]) => [name, values[type] ?? "Ada"])) };
});
client.setRequestHandler(types.CreateMessageRequestSchema, async () => (
  { role: "assistant", model: "m", content: { type: "text", text: "hm" } }
));
client.setRequestHandler(types.ListRootsRequestSchema, async () => ({ roots: [{ uri: "file:///a" }] }));
client.fallbackNotificationHandler = async ({ method, params }) => {
  hear(method === "notifications/message" ? `log ${params.level} ${params.data}` : method);
};

async function take([kind, value]) {
  if (kind === "call" || kind === "follow") {
    const onprogress = ({ progress, total }) => hear(`progress ${progress}/${total}`);
    const options = kind === "follow" ? { onprogress } : {};
    const result = await client.callTool({ name: value[0], arguments: value[1] }, undefined, options);
    const { text: said } = result.content.at(-1);
    return /^[[{n0-9]/.test(said) ? JSON.parse(said) : said;
  }
  if (kind === "cancel") {
    hangs = true;
    const given = new AbortController();
    const isAsked = new Promise((resolve) => { asked = resolve; });
    const call = client.callTool({ name: value[0], arguments: value[1] }, undefined, { signal: given.signal });
    await isAsked;
    given.abort("enough");
    await call.catch(() => {});
    hangs = false;
    return "given up";
  }
  if (kind === "level") return await client.setLoggingLevel(value);
  if (kind === "subscribe") return await client.subscribeResource({ uri: value });
  if (kind === "unsubscribe") return await client.unsubscribeResource({ uri: value });
  while (heard.length < value) await new Promise((resolve) => { wake = resolve; });
  return heard.splice(0, value).sort();
}

const [target, ...args] = process.argv.slice(2);
const steps = JSON.parse(await text(process.stdin));
await client.connect(
  target.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(target))
    : new StdioClientTransport({ command: target, args, env: process.env }),
);
for (const step of steps) {
  const [only] = Object.entries(step);
  try {
    console.log(JSON.stringify(await take(only)));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
await client.transport.terminateSession?.();
await client.close();
