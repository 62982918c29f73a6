package analysis

import (
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Fact is a sentence under a heading of one word or two.
type Fact struct{ Label, Text string }

// Facts says which stack asked for how much, how much was missing, and why the
// free memory was of no use. The function name names stacks.
func (f *Failure) Facts(name func(trace.StackID) string) []Fact {
	facts := []Fact{{"asked", quantity.Bytes(f.Requested) + " by " + name(f.Stack)}, f.shortfall(), {"cached", f.cached()}}
	if n := len(f.Pins); n > 0 {
		var live, size int64
		for _, pin := range f.Pins {
			live, size = live+pin.Live, size+pin.Segment
		}
		facts = append(facts, Fact{"pinned", quantity.Plural(n, "segment") + " of " + quantity.Bytes(size) + " by " + quantity.Bytes(live) +
			", one by " + name(f.Pins[0].Stack)})
	}
	return facts
}

func (f *Failure) shortfall() Fact {
	segment := ""
	if f.Need != f.Requested {
		segment = "it takes a new segment of " + quantity.Bytes(f.Need) + ", and "
	}
	switch {
	case f.Short < 0:
		return Fact{"short", segment + "what the driver had is not recorded"}
	case f.Short == 0:
		return Fact{"short", "the driver had " + quantity.Bytes(f.DeviceFree) + " free: " + f.refusedBy}
	default:
		return Fact{"short by", quantity.Bytes(f.Short) + ": " + segment + "the driver had " + quantity.Bytes(f.DeviceFree)}
	}
}

// cached says how much memory the allocator had and why it was of no use.
func (f *Failure) cached() string {
	own := f.Free - f.Elsewhere
	switch {
	case f.Free == 0:
		return "nothing was free in the segments that it had"
	case own == 0:
		return quantity.Bytes(f.Free) + " was free, all of it for other streams, pools or sizes"
	}
	text := quantity.Bytes(own) + " was free, the largest piece " + quantity.Bytes(f.Largest)
	if f.Elsewhere > 0 {
		text += "; " + quantity.Bytes(f.Elsewhere) + " more for other streams, pools or sizes"
	}
	return text
}
