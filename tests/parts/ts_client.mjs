// The official TypeScript client, headless: steps in, JSON lines out; the same steps and sessions as py_client.py, and for
// 1.x {"task": {"name": ..., "arguments": ...}}: the call as a task, polled to its end; the result lists what was heard.
//   node ts_client.mjs [--sdk 2|1] [--mode auto|legacy|2026-07-28] URL | --stdio COMMAND ARGS...
//   node ts_client.mjs [--sdk 2|1]: without a target, stdin holds whole sessions.
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

// The packages live in .parts, not beside this file.
const require = createRequire(new URL("../../.parts/node/package.json", import.meta.url));
const SESSION_MS = 45_000; // one that hangs costs only itself
const ANSWER = "An answer.";

function readCommandLine(words) {
  const options = { sdk: "2", mode: "auto", target: null };
  while (words.length > 0) {
    const word = words.shift();
    if (word === "--sdk") options.sdk = words.shift();
    else if (word === "--mode") options.mode = words.shift();
    else if (word === "--stdio") options.target = words.splice(0);
    else options.target = word;
  }
  return options;
}

function loadSdk(version) {
  if (version === "2") {
    const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
    const asked = { sampling: "sampling/createMessage", elicitation: "elicitation/create" };
    return { Client, StreamableHTTPClientTransport, asked, ...require("@modelcontextprotocol/client/stdio") };
  }
  const types = require("@modelcontextprotocol/sdk/types.js");
  return {
    ...require("@modelcontextprotocol/sdk/client/index.js"),
    ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    ...require("@modelcontextprotocol/sdk/client/stdio.js"),
    asked: { sampling: types.CreateMessageRequestSchema, elicitation: types.ElicitRequestSchema },
  };
}

function openTransport(sdk, target) {
  if (typeof target === "string") return new sdk.StreamableHTTPClientTransport(new URL(target));
  const [program, ...args] = target;
  return new sdk.StdioClientTransport({ command: program, args, env: process.env, stderr: "inherit" });
}

class Session {
  constructor(sdk, { mode, answers }) {
    const negotiation = ["auto", "legacy"].includes(mode) ? mode : { pin: mode };
    const capabilities = answers ? { sampling: {}, elicitation: {} } : {};
    const options = { capabilities, versionNegotiation: { mode: negotiation } };
    this.client = new sdk.Client({ name: "ts-client", version: "1" }, options);
    this.asked = [];
    if (answers) this.answerWith(sdk.asked);
  }

  answerWith({ sampling, elicitation }) {
    this.client.setRequestHandler(sampling, async ({ params }) => {
      this.asked.push({ sampling: params });
      return { role: "assistant", content: { type: "text", text: ANSWER }, model: "none" };
    });
    this.client.setRequestHandler(elicitation, async ({ params }) => {
      this.asked.push({ elicitation: params });
      return { action: "accept", content: fillIn(params.requestedSchema) };
    });
  }

  async take(step) {
    const { client } = this;
    if (step.list) return await client.listTools();
    if (step.pages) return await this.followPages();
    if (step.call) return await client.callTool(step.call);
    if (step.task) {
      return await heard(client.experimental.tasks.callToolStream(step.task, undefined, { task: { ttl: 60000 } }));
    }
    if (step.watch) return await this.watch(step.watch);
    if (step.cancel) return await this.cancel(step.cancel);
    if (step.ping) return await client.ping();
    if (step.resources) return await client.listResources();
    if (step.read) return await client.readResource({ uri: step.read });
    if (step.prompts) return await client.listPrompts();
    if (step.prompt) return await client.getPrompt(step.prompt);
    if (step.complete) {
      const { prompt, argument } = step.complete;
      return await client.complete({ ref: { type: "ref/prompt", name: prompt }, argument });
    }
    return {
      serverInfo: client.getServerVersion(),
      protocolVersion: client.getNegotiatedProtocolVersion?.() ?? client.transport.protocolVersion ?? null,
    };
  }

  async followPages() {
    const pages = [await this.client.listTools()];
    while (pages.at(-1).nextCursor !== undefined) {
      pages.push(await this.client.listTools({ cursor: pages.at(-1).nextCursor }));
    }
    return pages;
  }

  async watch(call) {
    const progress = [];
    const onprogress = (news) => progress.push(news);
    return { result: await this.callWith(call, { onprogress }), progress };
  }

  async cancel(call) {
    const stop = new AbortController();
    const onprogress = () => stop.abort("no longer needed");
    try {
      const result = await this.callWith(call, { onprogress, signal: stop.signal });
      return { cancelled: false, result };
    } catch (error) {
      if (!stop.signal.aborted) throw error;
      return { cancelled: true };
    }
  }

  async callWith(call, options) {
    // Version 1 takes the schema of the result in between.
    return await this.client.callTool(call, ...(isOneDotX ? [undefined, options] : [options]));
  }

  async outcome(step) {
    this.asked = [];
    let found;
    try {
      found = { result: await this.take(step) };
    } catch (error) {
      found = failure(error);
    }
    return this.asked.length > 0 ? { ...found, asked: this.asked } : found;
  }
}

async function heard(stream) {
  const messages = [];
  for await (const message of stream) messages.push(message.error ? failure(message.error) : message);
  return messages;
}

function fillIn(schema) {
  const values = { string: "Ada", boolean: true, integer: 1, number: 1 };
  return Object.fromEntries((schema.required ?? []).map((name) => [name, values[schema.properties[name].type]]));
}

function print(line) {
  process.stdout.write(JSON.stringify(line) + "\n");
}

function failure({ code, message, data }) {
  return { error: { code, message, ...(data === undefined ? {} : { data }) } };
}

async function driveSteps(sdk, options, steps) {
  const session = new Session(sdk, { mode: options.mode, answers: false });
  try {
    await session.client.connect(openTransport(sdk, options.target));
  } catch (error) {
    print(failure(error));
    process.exit(1);
  }
  for (const step of steps) print(await session.outcome(step));
  await session.client.close();
}

async function driveSession(sdk, wanted) {
  const outcomes = [];
  const session = new Session(sdk, wanted);
  const work = async () => {
    await session.client.connect(openTransport(sdk, wanted.target));
    for (const step of wanted.steps) outcomes.push(await session.outcome(step));
    await session.client.close();
  };
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("the session hung")), SESSION_MS);
  });
  try {
    await Promise.race([work(), late]);
  } catch (error) {
    outcomes.push(failure(error));
  } finally {
    clearTimeout(timer);
  }
  return outcomes;
}

const options = readCommandLine(process.argv.slice(2));
const isOneDotX = options.sdk === "1";
const wanted = JSON.parse(await text(process.stdin));
const sdk = loadSdk(options.sdk);
if (options.target !== null) await driveSteps(sdk, options, wanted);
else for (const session of wanted) print(await driveSession(sdk, session));
