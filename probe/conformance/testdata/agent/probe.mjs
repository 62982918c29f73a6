// What a viewer may ask: HTTP over a unix socket.

import { createServer } from "node:http";
import { userInfo, hostname } from "node:os";
import { Frames, Lines } from "./wire.mjs";
import { Held } from "./settings.mjs";
import { Session } from "./session.mjs";
import { metrics } from "./metrics.mjs";

const BODY_MAX = 64 * 1024, KEYS_MAX = 16, VIEWERS_MAX = 64, CONNECTIONS_MAX = 128;

// Refusal is an answer other than 200.
class Refusal extends Error {
  constructor(status, text, headers = {}) {
    super(text);
    Object.assign(this, { status, headers });
  }
}

const UNITS = { ns: 1e-6, us: 1e-3, ms: 1, s: 1000, m: 60_000 };

// milliseconds reads a time such as 100ms.
function milliseconds(name, text, otherwise, low, high) {
  if (text === null) return otherwise;
  const m = /^(\d+(?:\.\d+)?)(ns|us|ms|s|m)$/.exec(text);
  if (!m) throw new Refusal(400, `${name} must be a time such as 100ms`);
  return Math.min(Math.max(Number(m[1]) * UNITS[m[2]], low), high);
}

export class Probe {
  capabilities = ["ndjson", "control", "metrics"];
  sessions = new Set();
  connections = 0;
  dropped = 0;
  viewersNanoseconds = 0;

  constructor(memory, settings) {
    Object.assign(this, { memory, settings });
    this.routes = {
      "/v1/info": { GET: (q) => this.reply(q, this.info()) },
      "/v1/stream": { GET: (q) => this.stream(q) },
      "/v1/settings": { GET: (q) => this.reply(q, this.settingsAnswer(settings.changes)), POST: (q) => this.change(q) },
      "/v1/prediction": { GET: (q) => this.predict(q) },
      "/metrics": { GET: (q) => metrics(q, this.info()) },
    };
    this.server = createServer({ requestTimeout: 5000, headersTimeout: 5000, connectionsCheckingInterval: 500, maxHeaderSize: 16384 },
      (request, response) => this.serve(request, response));
    this.server.on("connection", (socket) => this.connected(socket));
    this.server.on("clientError", (error, socket) => refuseRaw(error, socket));
  }

  connected(socket) {
    socket.tooMany = ++this.connections > CONNECTIONS_MAX;
    socket.on("close", () => this.connections--);
  }

  async serve(request, response) {
    const q = { request, response, url: new URL(request.url, "http://memtop") };
    try {
      q.viewer = viewerOf(request);
      if (request.socket.tooMany) throw new Refusal(503, `${CONNECTIONS_MAX} connections are open: close some viewers`, { Connection: "close" });
      const methods = this.routes[request.url.split("?")[0]];
      if (!methods) throw new Refusal(404, "there is nothing here: see docs/protocol.md");
      const handle = methods[request.method];
      if (!handle) throw new Refusal(405, `it takes ${Object.keys(methods).join(" and ")}`, { Allow: Object.keys(methods).join(", ") });
      await handle(q);
    } catch (e) {
      this.refuse(q, e);
    }
  }

  refuse(q, e) {
    if (q.response.headersSent) return void q.response.destroy();
    const status = e instanceof Held ? 409 : (e.status ?? 500);
    q.response.writeHead(status, { "Content-Type": "application/json", ...e.headers });
    q.response.end(JSON.stringify({ error: e.message.replaceAll("\n", " "), holder: e.holder }) + "\n");
  }

  reply(q, value) {
    q.response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
    q.response.end(JSON.stringify(value) + "\n");
  }

  identity() {
    return {
      version: 1, capabilities: this.capabilities, pid: process.pid, command: process.argv.join(" "), user: userInfo().username,
      host: hostname(), writer: "an agent in JavaScript", started_us: this.memory.began, read_only: false,
    };
  }

  hello(interval) {
    return { ...this.identity(), minor: 1, devices: [this.memory.device], interval_ns: Math.round(interval * 1e6), settings: { allocator: "none" } };
  }

  info() {
    const bytes = this.memory.bytes(), s = this.memory.steps.at(-1);
    return {
      ...this.identity(), viewers: this.sessions.size, changing: this.settings.held() || undefined,
      devices: [{ device: this.memory.device, allocated_bytes: bytes, requested_bytes: bytes, reserved_bytes: bytes, events: this.memory.counted }],
      step: this.memory.step,
      last_step: s && {
        duration_ns: s.duration_ns, loss: s.loss, device: s.device, peak_allocated_bytes: s.peak_allocated_bytes,
        peak_reserved_bytes: s.peak_reserved_bytes, categories: s.categories,
      },
      probe_ns: 0, dropped_events: this.dropped, dropped_steps: 0, viewers_ns: this.viewersNanoseconds,
    };
  }

  stream(q) {
    const parameter = q.url.searchParams;
    const interval = milliseconds("interval", parameter.get("interval"), 100, 50, 60_000);
    if (this.sessions.size >= VIEWERS_MAX) throw new Refusal(503, `${VIEWERS_MAX} viewers are watching: close one of them`);
    const lines = (q.request.headers.accept ?? "").includes("application/x-ndjson");
    const session = new Session(this, q.response, lines ? new Lines() : new Frames(parameter.get("checksum")), interval);
    this.sessions.add(session);
    this.settings.open(q.viewer);
    q.response.on("close", () => {
      session.end();
      this.sessions.delete(session);
      this.settings.close(q.viewer);
    });
    session.begin(parameter.has("past"));
  }

  settingsAnswer(changes) {
    return { read_only: false, options: this.settings.options(), changes, holder: this.settings.held() || undefined };
  }

  async change(q) {
    const wait = milliseconds("wait", q.url.searchParams.get("wait"), 0, 0, 60_000);
    const made = this.settings.set(q.viewer, readSet(await readBody(q.request)));
    if (wait > 0) await this.shown(made, wait);
    this.reply(q, this.settingsAnswer(made));
  }

  // shown returns when steps have shown the changes, or after so many milliseconds.
  shown(made, wait) {
    return new Promise((resolve) => {
      const limit = setTimeout(() => end(), wait);
      const look = () => made.every((c) => c.state !== "pending") && end();
      const end = () => { clearTimeout(limit); this.settings.waiting.delete(look); resolve(); };
      this.settings.waiting.add(look);
      look();
    });
  }

  predict(q) {
    const value = q.url.searchParams.get("value");
    const wrong = this.settings.wrong(q.url.searchParams.get("key"), value);
    if (wrong) throw new Refusal(400, wrong);
    this.reply(q, { predicted: this.settings.predict(value) });
  }

  close(reason) {
    for (const s of this.sessions) s.bye(reason);
    this.server.close();
  }
}

// viewerOf returns what the viewer calls itself. Node cannot ask the kernel for its pid.
function viewerOf(request) {
  const name = request.headers["memtop-viewer"] ?? "a viewer without a name";
  if (!/^[ -~]{1,64}$/.test(name)) throw new Refusal(400, "Memtop-Viewer takes up to 64 printable ASCII characters");
  return name;
}

async function readBody(request) {
  const parts = [];
  let length = 0;
  for await (const part of request) { // to its end, or the answer would be lost with what was not read
    if ((length += part.length) <= BODY_MAX) parts.push(part);
  }
  if (length > BODY_MAX) throw new Refusal(413, `a request may have ${BODY_MAX} bytes`);
  return Buffer.concat(parts).toString();
}

function readSet(text) {
  let set, at;
  try {
    ({ set, at } = JSON.parse(text));
  } catch {
    set = undefined;
  }
  if (at !== undefined) throw new Refusal(400, "this program cannot name the step of a change");
  const entries = set && typeof set === "object" ? Object.entries(set) : [];
  if (entries.length === 0 || entries.length > KEYS_MAX || entries.some(([, value]) => typeof value !== "string")) {
    throw new Refusal(400, 'the body must be {"set": {"key": "value"}}');
  }
  return set;
}

// refuseRaw answers what is no request, or comes too slowly.
function refuseRaw(error, socket) {
  if (!socket.writable) return void socket.destroy();
  const status = error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? "408 Request Timeout" : error.code === "HPE_HEADER_OVERFLOW" ? "413 Content Too Large" : "400 Bad Request";
  const body = JSON.stringify({ error: status.slice(4).toLowerCase() }) + "\n";
  socket.end(`HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
}
