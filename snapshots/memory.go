package snapshots

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"

	"memtop/snapshots/trace"
)

// bounds begins the reading of the contents in a layer and returns the bound for
// them, by default the given one. It reports the bound to Bounded as it grows.
func (o *opening) bounds(l *layer, bound trace.Bound) trace.Bound {
	bound.Most = MostMemory()
	if o.options.MaxMemory > 0 {
		bound = trace.FixedBound(o.options.MaxMemory)
	}
	bound.Window = o.window
	told := int64(0)
	l.came = func(read int64) {
		if now := bound.After(read); o.options.Bounded != nil && now > told+told/8 {
			told = now
			o.options.Bounded(now)
		}
	}
	l.came(0)
	return bound
}

// fallbackMemory is assumed where the system does not say how much it has.
const fallbackMemory = 8 << 30

// MostMemory returns what the default bound of a file is at most, however large
// the file: half of the memory that this process may hope for.
func MostMemory() int64 { return memoryLimit() / 2 }

// memoryLimit returns how many bytes of memory this process may hope for: the
// machine's, or its container's if that is less.
func memoryLimit() int64 {
	limit := int64(fallbackMemory)
	if meminfo, err := os.ReadFile("/proc/meminfo"); err == nil {
		if total, ok := memTotal(meminfo); ok {
			limit = total
		}
	}
	for _, name := range []string{
		"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
	} {
		if text, err := os.ReadFile(name); err == nil {
			limit = min(limit, cgroupLimit(text))
		}
	}
	return limit
}

// memTotal finds the machine's memory in the text of /proc/meminfo.
func memTotal(meminfo []byte) (int64, bool) {
	for line := range bytes.Lines(meminfo) {
		fields := strings.Fields(string(line))
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// cgroupLimit reads a control group's limit; "max" is none.
func cgroupLimit(text []byte) int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}
