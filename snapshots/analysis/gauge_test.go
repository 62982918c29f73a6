package analysis

import (
	"testing"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// breathing is a run whose segments come and go: one more every ten microseconds
// from 1000 on, up to eight of them, and then one fewer each time.
func breathing(gauges ...trace.Gauge) *Index {
	const segment = 2 << 20
	var log trace.EventLog
	var final trace.State
	in := trace.NewInterner()
	for i := range int64(12) {
		kind, addr := trace.SegmentAlloc, uint64(madeAt+i*2*segment)
		if i >= 8 {
			kind, addr = trace.SegmentFree, uint64(madeAt+(15-i)*2*segment)
		}
		log.Append(trace.Event{Kind: kind, Addr: addr, Size: segment, Time: 1000 + 10*i})
	}
	for i := range uint64(4) {
		addr := madeAt + i*2*segment
		final.Segments = append(final.Segments, trace.Segment{Addr: addr, Size: segment, Blocks: []trace.Block{{Addr: addr, Size: segment}}})
	}
	tables := in.View()
	tr := &trace.Trace{
		Tables: &tables, Live: &trace.Live{Gauges: gauges},
		Devices: []trace.Device{{Base: &trace.State{}, Events: log.Events(), Final: final}},
	}
	return NewIndex(tr, &tr.Devices[0])
}

// look is what a driver says at a moment: a program whose context takes 300 MiB,
// another one with 50 MiB, and 7 MiB that nobody owns to.
func look(x *Index, time int64) trace.Gauge {
	reserved := x.ReservedAt(x.EventAtTime(time+1) - 1)
	return trace.Gauge{Time: time, Total: 1 << 30, Used: reserved + 357<<20, Process: reserved + 300<<20, Others: 50 << 20}
}

// TestWhatIsOutsideIsOfTheGaugesMoment looks at every event with looks that were
// taken at others.
func TestWhatIsOutsideIsOfTheGaugesMoment(t *testing.T) {
	plain := breathing()
	tests := map[string][]trace.Gauge{
		"one before all events":       {look(plain, 10)},
		"one in the middle":           {look(plain, 1045)},
		"one at the moment of a step": {look(plain, 1070)},
		"one after all":               {look(plain, 9000)},
		"one long after all":          {look(plain, 9_000_000)},
		"many":                        {look(plain, 10), look(plain, 1001), look(plain, 1035), look(plain, 1079), look(plain, 1105), look(plain, 1200)},
		"beside looks at another device": {
			{Device: 1, Time: 1030, Used: 1, Process: 1}, look(plain, 1045), {Device: 1, Time: 9_000_000, Used: 1, Process: 1},
		},
	}
	for name, gauges := range tests {
		t.Run(name, func(t *testing.T) {
			x := breathing(gauges...)
			for at := -1; at <= x.End(); at++ {
				want := map[RowKind]int64{CachedRow: x.ReservedAt(at), OutsideRow: 300 << 20, OthersRow: 50 << 20, UnexplainedRow: 7 << 20}
				gauge := x.GaugeAt(at)
				for _, row := range x.Waterfall(at, gauge) {
					if row.Bytes != want[row.Kind] {
						t.Errorf("after event %d %s is %s, want %s", at, row.Name, quantity.Bytes(row.Bytes), quantity.Bytes(want[row.Kind]))
					}
				}
				if used := x.ReservedAt(at) + 357<<20; gauge.Used != used {
					t.Errorf("after event %d the device has %s in use, want %s", at, quantity.Bytes(gauge.Used), quantity.Bytes(used))
				}
			}
		})
	}
}

func TestAGaugeOfAnAllocatorAloneExplainsEverything(t *testing.T) {
	plain := breathing()
	for name, off := range map[string]int64{
		"taken in peace": 0, "taken before a segment came": -2 << 20, "taken before all came": -1 << 40,
	} {
		t.Run(name, func(t *testing.T) {
			for _, time := range []int64{10, 1000, 1045, 1099, 5000} {
				for _, known := range []bool{true, false} {
					used := max(0, plain.ReservedAt(plain.EventAtTime(time+1)-1)+off)
					g := trace.Gauge{Time: time, Total: 1 << 30, Used: used, Process: used}
					if !known {
						g.Process, g.Others = -1, -1
					}
					x := breathing(g)
					for at := -1; at <= x.End(); at++ {
						sum := int64(0)
						for _, row := range x.Waterfall(at, x.GaugeAt(at)) {
							sum += row.Bytes
							if row.Kind >= OutsideRow && row.Bytes != 0 {
								t.Errorf("a look at %d, after event %d: %s is %d", time, at, row.Name, row.Bytes)
							}
						}
						if sum != x.ReservedAt(at) {
							t.Errorf("a look at %d, after event %d: the rows sum to %d, want %d", time, at, sum, x.ReservedAt(at))
						}
					}
				}
			}
		})
	}
}

// TestWhatSleepsIsNotInUse has a look at a program of which all but 1 MiB sleeps.
func TestWhatSleepsIsNotInUse(t *testing.T) {
	const time, left = 1045, 1 << 20
	plain := breathing()
	at := plain.EventAtTime(time+1) - 1
	reserved := plain.ReservedAt(at)
	asleep := trace.Gauge{Time: time, Total: 1 << 30, Used: left, Process: left, Card: &trace.Card{Watched: true, Reserved: reserved}}
	if got := breathing(asleep).GaugeAt(at); reserved <= left || got.Used != left || got.Process != left {
		t.Errorf("of %d bytes that are reserved, %d are in use, %d by the program, want %d", reserved, got.Used, got.Process, int64(left))
	}
}
