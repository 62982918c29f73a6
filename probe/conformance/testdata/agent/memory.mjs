// A made program: it allocates, frees and ends steps, and remembers what it did.

// The kinds of events that it has.
export const ALLOC = 1, FREE = 4, STEP_BEGIN = 13, STEP_END = 14;

const EVENTS_KEPT = 262144, STEPS_KEPT = 64, CHECKPOINT_STEPS = 32;

export const nowMicroseconds = () => Math.round((performance.timeOrigin + performance.now()) * 1000);

// Table numbers things that are equal once. Its first numbers are fixed.
class Table {
  constructor(first) {
    this.first = first;
    this.list = [];
    this.numbers = new Map();
  }

  number(entry) {
    const key = JSON.stringify(entry);
    if (!this.numbers.has(key)) {
      this.numbers.set(key, this.first + this.list.length);
      this.list.push(entry);
    }
    return this.numbers.get(key);
  }
}

export class Memory {
  device = 0;
  tables = { strings: new Table(2), lists: new Table(1), pools: new Table(1), streams: new Table(1), frames: new Table(1), stacks: new Table(2), notes: new Table(1) };
  live = new Map(); // by address
  events = []; // the last of them
  counted = 0; // of all events
  steps = []; // the last of them
  step = 0;
  began = nowMicroseconds();
  changed = () => {}; // called when something has happened
  next = 0x7f0000001001; // an address: any number will do
  clock = 0;

  constructor(settings) {
    this.settings = settings;
    const string = (s) => this.tables.strings.number(s);
    this.pool = this.tables.pools.number([0, 0]);
    this.large = string("large");
    const frame = (name, line) => this.tables.frames.number({ file: string("train.js"), name: string(name), line });
    this.stack = this.tables.stacks.number([frame("forward", 12), frame("train", 3)]);
    this.notes = Object.fromEntries(["parameter", "gradient", "activation"].map((category) => [category, this.tables.notes.number({
      category: string(category), layer: string("blocks.0"), role: string("weight"), shape: string("[10, 100]"), dtype: string("fp32"),
    })]));
    for (let i = 0; i < 4; i++) this.allocate(4000 + i, "parameter");
    this.remember();
  }

  // time returns microseconds since 1970 that do not go back.
  time() { return (this.clock = Math.max(this.clock, nowMicroseconds())); }

  record(kind, addr, size, stack, note) {
    this.events.push({ kind, addr, size, stack, note, time: this.time() });
    this.counted++;
    if (this.events.length > 2 * EVENTS_KEPT) this.events.splice(0, EVENTS_KEPT);
  }

  allocate(size, category) {
    const addr = this.next;
    this.next += size + 1;
    this.live.set(addr, { addr, size, stack: this.stack, note: this.notes[category], category });
    this.record(ALLOC, addr, size, this.stack, this.notes[category]);
    this.peak = Math.max(this.peak ?? 0, this.bytes());
    return addr;
  }

  free(addr) {
    const a = this.live.get(addr);
    this.live.delete(addr);
    this.record(FREE, addr, a.size, a.stack, a.note);
  }

  bytes() { return [...this.live.values()].reduce((sum, a) => sum + a.size, 0); }

  categories() {
    const sums = {};
    for (const a of this.live.values()) sums[a.category] = (sums[a.category] ?? 0) + a.size;
    return Object.entries(sums).map(([name, bytes]) => ({ name, bytes }));
  }

  // runStep does what a step of training does to memory.
  runStep() {
    this.settings.take(this.step + 1);
    const began = performance.now();
    this.step++;
    this.peak = 0;
    this.record(STEP_BEGIN, 0, this.step, 0, 0);
    const activations = Array.from({ length: this.settings.batch() }, () => this.allocate(1000, "activation"));
    const atPeak = this.categories();
    const gradient = this.allocate(4000, "gradient");
    for (const addr of activations.reverse()) this.free(addr);
    this.free(gradient);
    this.record(STEP_END, 0, this.step, 0, 0);
    this.endStep(began, atPeak);
  }

  endStep(began, atPeak) {
    const bytes = this.bytes();
    this.steps.push({
      step: this.step, time_us: this.time(), duration_ns: Math.round((performance.now() - began) * 1e6), tokens: 128, loss: 1 + 1 / this.step,
      device: this.device, allocated_bytes: bytes, reserved_bytes: bytes, peak_allocated_bytes: this.peak, peak_reserved_bytes: this.peak,
      categories: this.categories(), categories_at_peak: atPeak, settings: this.settings.values(),
    });
    if (this.steps.length > 16 * STEPS_KEPT) this.steps.splice(0, 8 * STEPS_KEPT);
    if (this.step % CHECKPOINT_STEPS === 0) this.remember();
    this.settings.used(this.step);
    this.changed();
  }

  // remember keeps the state of now, for viewers that want to know what led to theirs.
  remember() {
    this.past = this.state();
  }

  state() {
    const allocations = [...this.live.values()].sort((a, b) => a.addr - b.addr);
    return { device: this.device, first: this.counted, missed: 0, reason: "", pool: this.pool, large: this.large, allocations };
  }

  // since returns events from a number on, or null when they are not kept.
  since(number, most) {
    const at = number - (this.counted - this.events.length);
    return at < 0 ? null : this.events.slice(at, at + most);
  }
}
