// The numbers of /v1/info for collectors.

const OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8", TEXT = "text/plain; version=0.0.4; charset=utf-8";

// liked returns which of the two formats an Accept header likes best, null for neither.
function liked(accept) {
  if (!accept || !accept.trim()) return OPEN;
  const quality = (type) => {
    let best = { says: 0, q: 0 };
    for (const range of accept.split(",")) {
      const [name, ...parameters] = range.split(";").map((s) => s.trim().toLowerCase());
      const [, says] = [[type, 3], [type.split("/")[0] + "/*", 2], ["*/*", 1]].find(([n]) => n === name) ?? [];
      const q = Number(parameters.find((p) => p.startsWith("q="))?.slice(2) ?? 1);
      if (says > best.says || (says === best.says && q > best.q)) best = { says, q };
    }
    return best.q;
  };
  const open = quality("application/openmetrics-text"), text = quality("text/plain");
  if (open === 0 && text === 0) return null;
  return text > open ? TEXT : OPEN;
}

// families returns [name, type, unit, samples], a sample being [labels, value].
function families(i) {
  const device = (d) => ({ device: String(d.device) });
  const devices = (field) => i.devices.map((d) => [device(d), d[field]]);
  const one = (value) => [[{}, value]];
  const s = i.last_step;
  const ofStep = (value, labels = {}) => (s ? [[labels, value(s)]] : []);
  return [
    ["memtop_program", "info", "", [[{ pid: String(i.pid), command: i.command, user: i.user }, 1]]],
    ["memtop_allocated_bytes", "gauge", "bytes", devices("allocated_bytes")],
    ["memtop_requested_bytes", "gauge", "bytes", devices("requested_bytes")],
    ["memtop_reserved_bytes", "gauge", "bytes", devices("reserved_bytes")],
    ["memtop_events", "counter", "", devices("events")],
    ["memtop_step", "gauge", "", ofStep(() => i.step)],
    ["memtop_step_duration_seconds", "gauge", "seconds", ofStep((s) => s.duration_ns / 1e9)],
    ["memtop_step_loss", "gauge", "", ofStep((s) => s.loss)],
    ["memtop_step_peak_allocated_bytes", "gauge", "bytes", ofStep((s) => s.peak_allocated_bytes, s && device(s))],
    ["memtop_step_peak_reserved_bytes", "gauge", "bytes", ofStep((s) => s.peak_reserved_bytes, s && device(s))],
    ["memtop_category_bytes", "gauge", "bytes", s ? s.categories.map((c) => [{ ...device(s), category: c.name }, c.bytes]) : []],
    ["memtop_probe_cost_seconds", "counter", "seconds", one(i.probe_ns / 1e9)],
    ["memtop_probe_viewers_seconds", "counter", "seconds", one(i.viewers_ns / 1e9)],
    ["memtop_probe_dropped_events", "counter", "", one(i.dropped_events)],
    ["memtop_probe_dropped_steps", "counter", "", one(i.dropped_steps)],
    ["memtop_probe_viewers", "gauge", "", one(i.viewers)],
  ].filter(([, , , samples]) => samples.length > 0);
}

const escaped = (text) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');

function written(format, [name, type, unit, samples]) {
  const suffix = { counter: "_total", info: "_info", gauge: "" }[type];
  const family = format === TEXT ? name + suffix : name;
  const shown = format === TEXT && type === "info" ? "gauge" : type;
  const lines = [`# HELP ${family} Of the program.`, `# TYPE ${family} ${shown}`];
  if (unit && format === OPEN) lines.push(`# UNIT ${family} ${unit}`);
  for (const [labels, value] of samples) {
    const list = Object.entries(labels).map(([k, v]) => `${k}="${escaped(v)}"`).join(",");
    lines.push(`${name}${suffix}${list && `{${list}}`} ${value}`);
  }
  return lines.join("\n") + "\n";
}

// metrics answers with all of them.
export function metrics(q, info) {
  const format = liked(q.request.headers.accept);
  if (!format) throw Object.assign(new Error(`it is ${OPEN} or ${TEXT}`), { status: 406 });
  const text = families(info).map((f) => written(format, f)).join("") + (format === OPEN ? "# EOF\n" : "");
  q.response.writeHead(200, { "Content-Type": format, Vary: "Accept" });
  q.response.end(text);
}
