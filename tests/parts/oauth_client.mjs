// The official TypeScript client, which signs in by OAuth: the same as oauth_client.py.
//   node oauth_client.mjs [--mode auto|legacy|2026-07-28] [--client ID] URL WHO TOOL...
import { createRequire } from "node:module";

// The packages live in .parts, not beside this file.
const require = createRequire(new URL("../../.parts/node/package.json", import.meta.url));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = require("@modelcontextprotocol/client");
const CALLBACK = "http://127.0.0.1:47811/callback";

// Signs in where a browser would show the pages of the authorization server; the URL that leads back.
async function visit(start, who) {
  const cookies = new Map();
  let [url, body] = [start.toString(), undefined];
  for (let step = 0; step < 20; step += 1) {
    const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") };
    if (body) headers["content-type"] = "application/x-www-form-urlencoded";
    const response = await fetch(url, { method: body ? "POST" : "GET", headers, body, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      cookies.set(name, value);
    }
    body = undefined;
    const location = response.headers.get("location");
    if (location) {
      url = new URL(location, url).toString();
      if (url.startsWith(CALLBACK)) return new URL(url);
      continue;
    }
    const page = await response.text();
    const form = /<form[^>]* action="([^"]+)"/.exec(page);
    if (!form) throw new Error(`no form at ${url}: ${page.replace(/<style>.*?<\/style>/s, "").slice(0, 2000)}`);
    url = new URL(form[1], url).toString();
    const prompt = /name="prompt" value="(\w+)"/.exec(page)[1];
    body = new URLSearchParams({ prompt, login: who, password: "any" }).toString();
  }
  throw new Error("the authorization server never came back");
}

class Keeper {
  asked = [];

  constructor(id, who) {
    this.who = who;
    this.client = id ? { client_id: id } : undefined;
  }

  get redirectUrl() {
    return CALLBACK;
  }

  get clientMetadata() {
    return { client_name: "tests", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" };
  }

  clientInformation() {
    return this.client;
  }

  saveClientInformation(client) {
    this.client = client;
  }

  tokens() {
    return this.kept;
  }

  saveTokens(tokens) {
    this.kept = tokens;
  }

  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }

  codeVerifier() {
    return this.verifier;
  }

  async redirectToAuthorization(url) {
    this.asked.push(url.searchParams.get("scope") ?? "");
    this.back = await visit(url, this.who);
  }
}

const words = process.argv.slice(2);
const options = { mode: "auto", client: "" };
while (words[0]?.startsWith("--")) options[words.shift().slice(2)] = words.shift();
const [url, who, ...tools] = words;
const keeper = new Keeper(options.client, who);
const say = (line) => console.log(JSON.stringify(line));
let transport;

// What the client was told to sign in for; then the same again.
async function signedIn(work) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (problem) {
      if (!(problem instanceof UnauthorizedError) || tries === 2) throw problem;
      await transport.finishAuth(keeper.back.searchParams);
    }
  }
}

const mode = ["auto", "legacy"].includes(options.mode) ? options.mode : { pin: options.mode };
let client;
await signedIn(async () => {
  client = new Client({ name: "oauth-client", version: "1" }, { versionNegotiation: { mode } });
  const bearer = process.env.BEARER;
  const given = bearer ? { requestInit: { headers: { Authorization: `Bearer ${bearer}` } } } : { authProvider: keeper };
  transport = new StreamableHTTPClientTransport(new URL(url), given);
  await client.connect(transport);
});
for (const name of tools) {
  try {
    const result = await signedIn(() => client.callTool({ name, arguments: {} }));
    say({ text: result.content[0].text, is_error: Boolean(result.isError) });
  } catch (problem) {
    say({ error: `${problem.name}: ${problem.message}` });
  }
}
say({ asked: keeper.asked });
await client.close();
