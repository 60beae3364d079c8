// An authorization server that nobody here wrote: oidc-provider, on a port of this machine.
//   node provider.mjs PORT SCOPES
// Its own pages for development let anybody sign in under any name. Whoever asks for a token for a resource gets a JWT for it.
import { pathToFileURL } from "node:url";

// The packages live in .parts, not beside this file.
const home = new URL("../../.parts/node/node_modules/oidc-provider/lib/index.js", import.meta.url);
const { default: Provider } = await import(pathToFileURL(home.pathname));

const [port, scope] = process.argv.slice(2);
const resource = (audience) => ({
  scope,
  audience,
  accessTokenFormat: "jwt",
  accessTokenTTL: 600,
  jwt: { sign: { alg: "RS256" } },
});
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "robot",
      client_secret: "secret",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    },
    {
      client_id: "agent",
      token_endpoint_auth_method: "none",
      application_type: "native",
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: ["http://127.0.0.1:47811/callback"],
    },
  ],
  features: {
    clientCredentials: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, indicator) => resource(indicator),
    },
  },
  scopes: ["openid", "offline_access", ...scope.split(" ")],
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});
provider.listen(Number(port), "127.0.0.1");
