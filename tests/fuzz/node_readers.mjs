// What Node makes of bytes: Express 4's body reader behind Node's own HTTP, JSON.parse, readline, eventsource-parser.
// One line of JSON in, a list of jobs; one line out, for each job the list of the values that it found.
import http from 'node:http';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { Duplex } from 'node:stream';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(process.argv[2] + '/'));
const express = require('express4');
const { createParser } = require('eventsource-parser');

const waiting = new Map();
let number = 0;
const app = express();
app.use(express.json({ limit: '8mb' }));
app.use((req, res) => finish(req.socket, req.body === undefined || isUnread(req) ? [] : [req.body], res));
app.use((error, req, res, next) => finish(req.socket, [], res));

// What the middleware passes over, because of its type, is left as an empty object.
function isUnread(req) {
  return !req._body;
}

function finish(socket, found, res) {
  const resolve = waiting.get(socket.number);
  waiting.delete(socket.number);
  res.end();
  socket.destroy();
  if (resolve) resolve(found);
}

const server = http.createServer(app);
server.on('clientError', (error, socket) => {
  const resolve = waiting.get(socket.number);
  waiting.delete(socket.number);
  socket.destroy();
  if (resolve) resolve([]);
});

class Wire extends Duplex {
  _read() {}
  _write(chunk, encoding, done) { done(); }
  setTimeout() { return this; }
  setNoDelay() { return this; }
  setKeepAlive() { return this; }
}

function readRequest(raw) {
  return new Promise((resolve) => {
    const wire = new Wire();
    wire.number = ++number;
    waiting.set(wire.number, resolve);
    server.emit('connection', wire);
    wire.push(raw);
    wire.push(null);
  });
}

function parse(text) {
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
}

function readText(raw) {
  return parse(new TextDecoder().decode(raw));
}

async function readLines(raw) {
  const found = [];
  const wire = new Wire();
  const lines = createInterface({ input: wire, crlfDelay: Infinity });
  wire.push(raw);
  wire.push(null);
  for await (const line of lines) found.push(...parse(line));
  return found;
}

function readEvents(pieces) {
  const found = [];
  const parser = createParser({ onEvent: (event) => found.push(...parse(event.data)), onError: () => {} });
  const decoder = new TextDecoder();
  for (const piece of pieces) parser.feed(decoder.decode(piece, { stream: true }));
  return found;
}

function spell(key, value) {
  return typeof value === 'number' && !Number.isFinite(value) ? { '$number': String(value) } : value;
}

const bytes = (text) => Buffer.from(text, 'base64');
for await (const line of createInterface({ input: process.stdin })) {
  const found = [];
  for (const job of JSON.parse(line)) {
    const pieces = job.pieces.map(bytes);
    const whole = Buffer.concat(pieces);
    if (job.kind === 'request') found.push(await readRequest(whole));
    else if (job.kind === 'text') found.push(readText(whole));
    else if (job.kind === 'lines') found.push(await readLines(whole));
    else found.push(readEvents(pieces));
  }
  process.stdout.write(JSON.stringify(found, spell) + '\n');
}
