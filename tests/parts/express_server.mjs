// An MCP server as many are written: Express 4, express.json() for the bodies, and a switch over the method.
//   node express_server.mjs PORT JOURNAL
// Each POST that was read is a line of the journal: {"headers": [name, value, ...], "body": what was read, "url": ...}.
// Modern requests are dispatched as a proxy would: by Mcp-Method and Mcp-Name, where those headers are there.
import { createRequire } from "node:module";
import { appendFileSync } from "node:fs";

// The packages live in .parts, not beside this file.
const require = createRequire(new URL("../../.parts/node/package.json", import.meta.url));
const express = require("express4");

const [port, journal] = process.argv.slice(2);
const TOOLS = ["pay", "look"].map((name) => ({ name, description: name, inputSchema: { type: "object" } }));
const modern = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };

function run(method, name) {
  if (method === "tools/call") return { content: [{ type: "text", text: `ran ${name}` }] };
  if (method === "tools/list") return { tools: TOOLS };
  if (method === "server/discover") return modern;
  if (method !== "initialize") return {};
  return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "express", version: "1" } };
}

const app = express();
app.use(express.json());
app.post("/mcp", (request, response) => {
  const { id, method, params } = request.body;
  const ran = request.get("mcp-method") ?? method;
  const name = request.get("mcp-name") ?? params?.name;
  const seen = { headers: request.rawHeaders, body: request.body, ran, name, url: request.url };
  appendFileSync(journal, JSON.stringify(seen) + "\n");
  if (id === undefined) response.status(202).end();
  else response.json({ jsonrpc: "2.0", id, result: { resultType: "complete", ...run(ran, name) } });
});
app.listen(Number(port), "127.0.0.1");
