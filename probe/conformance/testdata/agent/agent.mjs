// An agent that was written from docs/protocol.md alone: a made program, watched as the
// page says. It ends when its standard input does.

import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Memory } from "./memory.mjs";
import { Probe } from "./probe.mjs";
import { Settings } from "./settings.mjs";

const STEP = 20; // milliseconds

function folder() {
  const { MEMTOP_DIR, XDG_RUNTIME_DIR, TMPDIR } = process.env;
  const path = MEMTOP_DIR || (XDG_RUNTIME_DIR ? join(XDG_RUNTIME_DIR, "memtop") : join(TMPDIR || "/tmp", `memtop-${process.getuid()}`));
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const is = lstatSync(path);
  if (!is.isDirectory() || is.uid !== process.getuid() || (is.mode & 0o077) !== 0) throw new Error(`${path} is not a folder of this user's own`);
  return path;
}

// startTime is when this process began, in clock ticks since the machine did.
function startTime() {
  try {
    const stat = readFileSync("/proc/self/stat", "latin1");
    return stat.slice(stat.lastIndexOf(")") + 1).trim().split(" ")[19];
  } catch {
    return "0";
  }
}

const settings = new Settings();
const memory = new Memory(settings);
const probe = new Probe(memory, settings);
const at = folder(), path = join(at, `${process.pid}-${startTime()}.sock`), hidden = join(at, `.${process.pid}.sock`);

process.umask(0o177);
probe.server.listen(hidden, () => {
  chmodSync(hidden, 0o600);
  renameSync(hidden, path);
  console.log(path);
});
const training = setInterval(() => memory.runStep(), STEP);
process.stdin.resume();
process.stdin.on("end", () => {
  clearInterval(training);
  rmSync(path, { force: true });
  probe.close("the program ended");
});
