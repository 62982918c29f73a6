package snapshots

import (
	"github.com/memtop/memtop/snapshots/hostmemory"
	"github.com/memtop/memtop/snapshots/trace"
)

// bounds begins to read the contents of a layer and returns the memory bound for
// them, by default the given bound. It reports the bound to Bounded as it grows.
func (o *opening) bounds(l *layer, bound trace.Bound) trace.Bound {
	bound.Most = MostMemory()
	if o.options.MaxMemory > 0 {
		bound = trace.FixedBound(o.options.MaxMemory)
	}
	bound.Window = o.window
	told := int64(0)
	l.came = func(read int64) {
		if now := bound.After(read); o.options.Bounded != nil && now > told+told/2 {
			told = now
			o.options.Bounded(now)
		}
	}
	l.came(0)
	return bound
}

// fallbackMemory is assumed if the system does not say how much memory it has.
const fallbackMemory = 8 << 30

// MostMemory returns the upper limit of the default bound, which holds for files
// of any size: half of the memory that this process can expect to get.
func MostMemory() int64 {
	total := hostmemory.Total()
	if total == 0 {
		total = fallbackMemory
	}
	return total / 2
}
