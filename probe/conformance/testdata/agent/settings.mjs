// What may be changed, who changes it, and what became of it.

import { nowMicroseconds } from "./memory.mjs";

const ALONE = 10_000, STREAMING = 60_000; // milliseconds

// Held says that another viewer is changing settings.
export class Held extends Error {
  constructor(holder) {
    super(`viewer ${holder} is changing settings: wait until it has done`);
    this.holder = holder;
  }
}

export class Settings {
  current = { batch: "8" };
  changes = [];
  edition = 0; // grows with each difference
  holder = "";
  last = 0; // when the holder changed something
  streams = new Map(); // open ones by viewer
  waiting = new Set(); // called when a change moves on

  batch() { return Number(this.current.batch); }
  values() { return Object.entries(this.current).map(([key, value]) => ({ key, value })); }

  options() {
    return [{ key: "batch", value: this.wanted("batch"), about: "samples in a step", choices: ["4", "8", "16"] }];
  }

  wanted(key) {
    return this.changes.findLast((c) => c.key === key && c.state === "pending")?.to ?? this.current[key];
  }

  // wrong says why a value cannot be set, "" when it can.
  wrong(key, value) {
    const option = this.options().find((o) => o.key === key);
    if (!option) return `there is no setting ${JSON.stringify(key)}`;
    return option.choices.includes(value) ? "" : `${key} takes ${option.choices.join(", ")}`;
  }

  held() {
    const limit = this.streams.get(this.holder) > 0 ? STREAMING : ALONE;
    if (this.holder && performance.now() - this.last >= limit) this.holder = "";
    return this.holder;
  }

  open(viewer) { this.streams.set(viewer, (this.streams.get(viewer) ?? 0) + 1); }

  close(viewer) {
    const left = this.streams.get(viewer) - 1;
    if (left > 0) return void this.streams.set(viewer, left);
    this.streams.delete(viewer);
    if (this.holder === viewer) this.holder = "";
  }

  // set notes changes and returns them.
  set(viewer, wanted) {
    if (this.held() && this.holder !== viewer) throw new Held(this.holder);
    this.holder = viewer;
    this.last = performance.now();
    return Object.entries(wanted).sort().map(([key, value]) => this.change(key, value));
  }

  change(key, value) {
    const c = { id: this.changes.length + 1, time_us: nowMicroseconds(), key, from: this.current[key] ?? "", to: value, state: "pending" };
    const reason = this.wrong(key, value);
    if (reason) this.move(c, { state: "refused", reason });
    else {
      c.predicted = this.predict(value);
      for (const old of this.changes) {
        if (old.key === key && old.state === "pending") this.move(old, { state: "refused", reason: "another change came before a step used it" });
      }
    }
    this.changes.push(c);
    this.edition++;
    return c;
  }

  predict(value) {
    const bytes = 1000 * (Number(value) - this.batch());
    return { peak_allocated_bytes: bytes, activation_bytes: bytes };
  }

  move(c, to) {
    Object.assign(c, to);
    this.edition++;
    for (const done of this.waiting) done();
  }

  // take makes the values of pending changes those of the step that begins.
  take() {
    for (const c of this.changes) if (c.state === "pending") this.current[c.key] = c.to;
  }

  // used notes the changes that a step has used.
  used(step) {
    for (const c of this.changes) if (c.state === "pending") this.move(c, { state: "applied", step });
  }
}
