// One viewer's stream.

import { nowMicroseconds } from "./memory.mjs";

const HEARTBEAT = 1000; // milliseconds
const RUN = 65536; // events of a frame, at most
const CUT_OFF = 5000; // milliseconds in which a viewer must take what was sent

export class Session {
  sent = {}; // entries by table
  changes = new Map(); // as the viewer knows them, by id
  options = "";
  last = 0; // when the last batch was sent

  constructor(probe, response, encoder, interval) {
    Object.assign(this, { probe, memory: probe.memory, settings: probe.settings, response, encoder, interval });
    response.on("drain", () => { this.full = undefined; });
  }

  begin(past) {
    this.response.writeHead(200, { "Content-Type": this.encoder.contentType, "Cache-Control": "no-store" });
    this.write(this.encoder.header());
    this.message("hello", this.probe.hello(this.interval));
    this.base(past && this.memory.since(this.memory.past.first, 1) ? this.memory.past : this.memory.state());
    this.events();
    this.step = (this.memory.steps.at(-65)?.step ?? 0);
    this.batch();
    this.timer = setInterval(() => this.tick(), Math.min(this.interval, 250));
  }

  tick() {
    const since = performance.now() - this.last;
    if (this.full && performance.now() - this.full > CUT_OFF) return void this.response.destroy();
    const news = this.at < this.memory.counted || this.step < this.memory.step || this.edition !== this.settings.edition;
    if ((news && since >= this.interval - 1) || since >= Math.max(HEARTBEAT, this.interval)) this.batch();
  }

  // batch sends what is new, unless the viewer has yet to take what was sent.
  batch() {
    if (this.full) return;
    const began = performance.now();
    this.last = began;
    this.events();
    for (const s of this.memory.steps) {
      if (s.step > this.step) this.message("step", s);
    }
    this.step = this.memory.step;
    this.changed();
    this.message("counters", { time_us: nowMicroseconds(), dropped: this.probe.dropped, dropped_steps: 0, probe_ns: 0 });
    this.probe.viewersNanoseconds += Math.round((performance.now() - began) * 1e6);
  }

  events() {
    while (this.at < this.memory.counted) {
      const list = this.memory.since(this.at, RUN);
      if (!list) {
        const state = this.memory.state();
        this.probe.dropped += state.first - this.at;
        return this.base({ ...state, missed: state.first - this.at, reason: "the viewer fell behind" });
      }
      this.tables();
      this.write(this.encoder.events(this.memory.device, this.at, list));
      this.at += list.length;
    }
  }

  base(state) {
    this.tables();
    this.write(this.encoder.base(state));
    this.at = state.first;
  }

  // tables sends the entries that the viewer does not have.
  tables() {
    for (const [name, table] of Object.entries(this.memory.tables)) {
      const sent = this.sent[name] ?? 0;
      if (sent < table.list.length) this.write(this.encoder.table(name, table.first + sent, table.list.slice(sent)));
      this.sent[name] = table.list.length;
    }
  }

  changed() {
    this.edition = this.settings.edition;
    const options = JSON.stringify(this.settings.options());
    if (options !== this.options) this.message("options", this.settings.options());
    this.options = options;
    for (const c of this.settings.changes) {
      const text = JSON.stringify(c);
      if (this.changes.get(c.id) !== text) this.message("change", c);
      this.changes.set(c.id, text);
    }
  }

  message(name, value) { this.write(this.encoder.message(name, value)); }

  write(bytes) {
    if (bytes.length > 0 && !this.response.write(bytes)) this.full ??= performance.now();
  }

  bye(reason) {
    this.batch();
    this.message("bye", { reason });
    this.response.end();
  }

  end() { clearInterval(this.timer); }
}
