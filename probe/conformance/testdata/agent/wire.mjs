// The stream as frames, byte by byte.

export const TABLES = ["strings", "lists", "pools", "streams", "frames", "stacks", "notes"]; // types 1 to 7
const TYPES = { base: 8, events: 9, hello: 10, settings: 11, step: 12, options: 13, change: 14, gauges: 15, counters: 16, bye: 17 };
const CHECKSUMS = { crc32c: 0, crc32: 1, none: 2 };

// All fields of a segment but history and state; address, requested, state and size of a block.
const SEGMENT_GIVEN = 0xaff, BLOCK_GIVEN = 0xc03;

// table returns what a CRC adds for each byte, for a polynomial that is reflected.
function table(polynomial) {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let c = byte;
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ polynomial : c >>> 1;
    return c;
  });
}

const castagnoli = table(0x82f63b78), zlib = table(0xedb88320);

function crc(table, bytes) {
  let c = 0xffffffff;
  for (const b of bytes) c = table[(c ^ b) & 0xff] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

// Payload is bytes that grow.
class Payload {
  bytes = [];

  u(n) {
    for (; n >= 128; n = Math.floor(n / 128)) this.bytes.push((n % 128) | 128);
    this.bytes.push(n);
    return this;
  }

  s(n) { return this.u(n >= 0 ? 2 * n : -2 * n - 1); }

  text(t) {
    const bytes = Buffer.from(t);
    this.u(bytes.length);
    this.bytes.push(...bytes);
    return this;
  }
}

// entries are how the entries of each table are written.
const entries = {
  strings: (p, e) => p.text(e),
  lists: (p, e) => e.reduce((p, n) => p.u(n), p.u(e.length)),
  pools: (p, e) => p.s(e[0]).s(e[1]),
  streams: (p, e) => p.u(e),
  frames: (p, e) => p.u(e.file).u(e.name).s(e.line),
  stacks: (p, e) => e.reduce((p, n) => p.u(n), p.u(e.length)),
  notes: (p, e) => [0, 0, 0, e.category, e.layer, e.role, e.shape, e.dtype, 0, 0].reduce((p, n) => p.u(n), p),
};

// Frames writes a stream of frames.
export class Frames {
  contentType = "application/vnd.memtop.stream";

  constructor(checksum) {
    this.checksum = CHECKSUMS[checksum] ?? CHECKSUMS.crc32c;
  }

  header() { return Buffer.from([0x8f, 0x6d, 0x74, 0x72, 0x0d, 0x0a, 1, (this.checksum << 6) | 1]); }

  frame(type, payload) {
    const head = Buffer.from(new Payload().u(type).u(payload.length).bytes);
    const frame = Buffer.concat([head, payload]);
    if (this.checksum === CHECKSUMS.none) return frame;
    const sum = Buffer.alloc(4);
    sum.writeUInt32LE(crc(this.checksum === CHECKSUMS.crc32 ? zlib : castagnoli, frame));
    return Buffer.concat([frame, sum]);
  }

  message(name, value) { return this.frame(TYPES[name], Buffer.from(JSON.stringify(value))); }

  table(name, first, list) {
    const p = new Payload();
    for (const e of list) entries[name](p, e);
    return this.frame(TABLES.indexOf(name) + 1, Buffer.from(p.bytes));
  }

  // base is a device without a caching allocator: a segment with one block for each allocation.
  base(b) {
    const p = new Payload().s(b.device).s(b.first).s(b.missed).text(b.reason).u(b.allocations.length);
    for (const a of b.allocations) {
      p.u(2 * SEGMENT_GIVEN).u(a.addr).s(a.size).s(a.size).s(a.size).s(a.size).s(b.device).u(a.stack).u(0).u(b.pool).u(b.large).u(1);
      p.u(1 | 0x08 | 0x10 | 0x20).s(a.size).u(BLOCK_GIVEN).s(a.size).u(a.stack).u(a.note);
    }
    return this.frame(TYPES.base, Buffer.from(p.bytes));
  }

  events(device, first, list) {
    const p = new Payload().s(device).s(first).u(list.length);
    let time = 0;
    for (const e of list) {
      p.bytes.push(e.kind | 0x80, 0x20); // the address is written as it is
      p.u(e.addr).s(e.size).u(e.stack).u(e.note).s(e.time - time);
      time = e.time;
    }
    return this.frame(TYPES.events, Buffer.from(p.bytes));
  }
}

// KINDS are the names of events.
const KINDS = [
  "other", "alloc", "free_requested", "free_completed", "free", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
  "oom", "snapshot", "annotate", "retag", "step_begin", "step_end", "setting_changed", "lost",
];

const hex = (n) => "0x" + n.toString(16);

// Lines writes a stream of lines of JSON.
export class Lines {
  contentType = "application/x-ndjson";

  header() { return Buffer.alloc(0); }
  message(type, data) { return Buffer.from(JSON.stringify({ type, data }) + "\n"); }
  table(name, first, list) { return this.message(name, { first, entries: name === "streams" ? list.map(hex) : list }); }

  base(b) {
    return this.message("base", {
      device: b.device, first: b.first, missed: b.missed, reason: b.reason,
      segments: b.allocations.map((a) => ({
        addr: hex(a.addr), size: a.size, pool: b.pool, type: b.large, stack: a.stack,
        blocks: [{ addr: hex(a.addr), size: a.size, requested: a.size, state: "active_allocated", stack: a.stack, note: a.note }],
      })),
    });
  }

  events(device, first, list) {
    const line = (e) => ({ kind: KINDS[e.kind], addr: hex(e.addr), size: e.size, time_us: e.time, stack: e.stack, note: e.note });
    return this.message("events", { device, first, events: list.map(line) });
  }
}
