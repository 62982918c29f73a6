package analysis

import (
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// liveRun is a short run with a device that somebody else uses too.
func liveRun() *trace.Trace {
	m := newMaker()
	weight := m.tag("parameter", "blocks.0", "weight")
	m.get(weight, m.stack(3), 1<<16)
	m.run(func() {
		m.drop(m.get(m.tag("activation", "blocks.0", "output"), m.stack(5), 3<<16))
		m.get(m.tag("input", "data", "tokens"), 0, 700)
	})
	m.told = trace.Live{PID: 4711, Dropped: 3, Gauges: []trace.Gauge{{
		Total: 1 << 30, Used: 1 << 20, Process: 700 << 10, Others: 200 << 10, Utilisation: 50, Temperature: -1, Power: -1,
	}}}
	s := &m.steps[0]
	s.PeakAllocated, s.PeakReserved, s.ProbeNS = 4<<16, 5<<16, 99
	s.AtPeak = []trace.Amount{{Name: "parameter", Bytes: 1 << 16}, {Name: "activation", Bytes: 3 << 16}}
	s.Settings = []trace.Value{{Key: "amp", Value: "off"}, {Key: "checkpoint", Value: "none"}}
	s.Layers = []trace.Layer{{Class: "GPT"}, {Name: "blocks.0", Class: "Block", SavedBytes: 3 << 16, OutputShape: "[1]"}}
	return m.trace()
}

func TestWaterfallSumsToWhatIsUsed(t *testing.T) {
	tr := liveRun()
	x := NewIndex(tr, &tr.Devices[0])
	gauges := map[string]struct {
		gauge *trace.Gauge
		want  func(at int) int64
	}{
		"without a gauge to what is reserved":       {nil, x.ReservedAt},
		"with one to what the device has in use":    {&trace.Gauge{Used: 1 << 20, Process: 700 << 10, Others: 200 << 10}, func(int) int64 { return 1 << 20 }},
		"with one that does not know the process":   {&trace.Gauge{Used: 1 << 20, Process: -1, Others: -1}, func(int) int64 { return 1 << 20 }},
		"with one that was read before memory grew": {&trace.Gauge{Used: 4096, Process: 4096}, func(int) int64 { return 4096 }},
		"with one that knows nothing":               {&trace.Gauge{Used: -1, Process: -1, Others: -1}, x.ReservedAt},
	}
	for name, test := range gauges {
		for at := -1; at <= x.End(); at++ {
			rows := x.Waterfall(at, test.gauge)
			var sum int64
			for _, row := range rows {
				sum += row.Bytes
				if row.Bytes < 0 && row.Kind != UnexplainedRow {
					t.Errorf("%s: after event %d %s is %d", name, at, row.Name, row.Bytes)
				}
			}
			if sum != test.want(at) || rows[len(rows)-1].Kind != UnexplainedRow {
				t.Errorf("%s: after event %d it sums to %d, want %d", name, at, sum, test.want(at))
			}
		}
	}
}

func TestLayersAreATreeInTheOrderTheyRan(t *testing.T) {
	layers := func(names ...string) []trace.Layer {
		var all []trace.Layer
		for _, n := range names {
			all = append(all, trace.Layer{Name: n, SavedBytes: 10, ForwardNS: 7})
		}
		return all
	}
	tr := &trace.Trace{Steps: []trace.Step{
		{Number: 1, Layers: layers("", "a")},
		{Number: 2, Layers: layers("", "wte", "blocks.0", "blocks.0.attn", "blocks.0.attn.qkv", "blocks.1", "ab", "a.b")},
		{Number: 3},
	}}
	table := Layers(tr, 0)
	var got []string
	for _, r := range table.Rows {
		got = append(got, strings.Repeat("-", r.Depth)+r.Label)
	}
	want := []string{"", "-wte", "-blocks.0", "--attn", "---qkv", "-blocks.1", "-ab", "-a.b"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if table.Step.Number != 2 || table.Total.Layers != 8 || table.Total.SavedBytes != 80 || table.Rows[2].Sum.SavedBytes != 30 || table.Rows[2].Sum.ForwardNS != 7 {
		t.Errorf("step %d, total %+v, a block %+v", table.Step.Number, table.Total, table.Rows[2].Sum)
	}
	if got := Layers(tr, 1); got.Step.Number != 1 || len(got.Rows) != 2 {
		t.Errorf("step 1: got %+v", got)
	}
	if got := Layers(&trace.Trace{}, 0); got.Step != nil || len(got.Rows) != 0 {
		t.Errorf("without steps: got %+v", got)
	}
}

// TestMemoryThatTheWriterHasNotSeenIsARowOfItsOwn has a block whose purpose is noted, one
// that was seen without a purpose, and one that was not seen.
func TestMemoryThatTheWriterHasNotSeenIsARowOfItsOwn(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
note weights category="parameter"
note table category="other" role="table"
device 0
alloc 0x1000 512 note=weights
alloc 0x2000 1024 note=table
alloc 0x3000 2048 stack=main
`)
	bytes := make(map[string]int64)
	for _, row := range x.Waterfall(x.End(), nil) {
		bytes[row.Name] = row.Bytes
	}
	if bytes["not seen"] != 2048 || bytes[trace.OtherCategory.Purpose()] != 1024 || bytes[trace.Parameter.Purpose()] != 512 {
		t.Errorf("got %v", bytes)
	}
}
