package reopen

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/tuitest"
)

// made is an entry with all that one may say.
func made(t testing.TB) []byte {
	t.Helper()
	s := &Source{trace: tuitest.Small(), indexes: make(map[int]*analysis.Index), used: make(chan struct{})}
	var b bytes.Buffer
	if err := (&Cache{}).writeEntry(t.Context(), &b, &head{}, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read returns what an entry holds that is about any file.
func read(all []byte) (*opened, error) {
	r, err := newReader(all)
	if err != nil {
		return nil, err
	}
	if one[head](r); r.err != nil {
		return nil, r.err
	}
	return readTrace(r)
}

// changed returns an entry with other numbers and with the right checksums. Four bytes of
// edits change a byte: of which section, which, and how.
func changed(t testing.TB, entry, edits []byte) []byte {
	t.Helper()
	all := bytes.Clone(entry)
	r, err := newReader(all)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(edits) >= 4; edits = edits[4:] {
		s := r.spans[int(edits[0])%len(r.spans)]
		if s.Bytes > 0 {
			all[s.From+(int64(edits[1])<<8|int64(edits[2]))%s.Bytes] ^= edits[3]
		}
	}
	for k, s := range r.spans { // sums are where the entry has them
		for piece := range pieces(s.Bytes) {
			b := all[s.From : s.From+s.Bytes][piece*pieceBytes:]
			r.sums[r.first[k]+int(piece)] = sum(b[:min(pieceBytes, len(b))])
		}
	}
	end := int64(len(all)) - footBytes
	f := &viewOf[foot](all[end:])[0]
	f.Sum = sum(all[f.Table:end])
	return all
}

// FuzzPlanted changes what an entry says and gives it the right checksums: it is refused,
// or all questions about it are answered.
func FuzzPlanted(f *testing.F) {
	entry := made(f)
	r, err := newReader(entry)
	if err != nil {
		f.Fatal(err)
	}
	for k := range r.spans {
		f.Add([]byte{byte(k), 0, 0, 1})
		f.Add([]byte{byte(k), 0, 9, 0x80})
	}
	f.Fuzz(func(t *testing.T, edits []byte) {
		o, err := read(changed(t, entry, edits))
		if err != nil {
			return
		}
		report.New(o.trace)
		for i := range o.trace.Devices {
			askAll(o.indexes[o.trace.Devices[i].ID])
		}
	})
}

// askAll asks what pages ask.
func askAll(x *analysis.Index) {
	x.Summary()
	x.OOMs()
	x.Marks()
	x.Steps()
	x.Findings()
	x.Experiments()
	x.Waste()
	x.StepGrowth()
	var m *analysis.Map
	for _, at := range []int{-1, 0, x.End() / 2, x.End() - 1, x.End()} {
		x.RequestedAt(at)
		x.ReservedAt(at)
		x.SegmentsAt(at)
		m = x.MapAt(at, m)
		x.LargestAt(at, 10)
		x.HoldersAt(at)
		x.CategoriesAt(at)
		x.Stacks(at, analysis.StackOptions{})
		x.Tensors(at)
		x.Waterfall(at, nil)
		x.Sites(at)
	}
	if n := x.End() + 1; n > 0 {
		x.Highest(0, n)
		x.Lowest(n/3, n)
		for by := analysis.Banding(0); by < 3; by++ {
			x.Timeline(by, 0, n, 60)
			x.TimelineByTime(by, 0, n, 60)
		}
		x.SegmentTimeline(0, n, 60)
	}
	x.Lifetimes().Alive(x.End(), func(id trace.AllocationID) bool {
		x.Lifetimes().FreeRequested(id)
		return true
	})
}

func TestPlantedNumbersAreRefusedOrHarmless(t *testing.T) {
	entry := made(t)
	random := rand.New(rand.NewPCG(3, 4))
	refused := 0
	const tries = 1000
	for range tries {
		edits := make([]byte, 4*(1+random.IntN(3)))
		for i := range edits {
			edits[i] = byte(random.Uint32())
		}
		o, err := read(changed(t, entry, edits))
		if err != nil {
			refused++
			continue
		}
		for _, x := range o.indexes {
			askAll(x)
		}
	}
	if refused == 0 || refused == tries {
		t.Errorf("of %d changed entries %d were refused", tries, refused)
	}
}

func TestAnEntryHasAllThatATraceHas(t *testing.T) {
	for name, of := range map[string]*trace.Trace{
		"a run": tuitest.Small(), "two devices": tuitest.TwoDevices(), "no history": tuitest.StateOnly(), "many chunks": tuitest.Large(40_000),
	} {
		t.Run(name, func(t *testing.T) {
			of.Settings = []trace.Setting{
				{Key: "none"},
				{Key: "flag", Value: true},
				{Key: "number", Value: int64(-3)},
				{Key: "float", Value: 0.25},
				{Key: "text", Value: "ü"},
				{Key: "list", Value: []any{int64(1), "a", []any{}, nil}},
				{Key: "tree", Value: []trace.Setting{{Key: "inner", Value: []trace.Setting{{Key: "innermost", Value: false}}}}},
			}
			of.Notices = []string{"", "a notice"}
			before := &Source{trace: of, indexes: make(map[int]*analysis.Index), used: make(chan struct{})}
			var b bytes.Buffer
			if err := (&Cache{}).writeEntry(t.Context(), &b, &head{}, before); err != nil {
				t.Fatal(err)
			}
			o, err := read(b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			o.trace.Info.Path = of.Info.Path
			wantSame(t, before, &Source{trace: o.trace, indexes: o.indexes, used: make(chan struct{})})
		})
	}
}

// FuzzEntry reads any bytes as an entry.
func FuzzEntry(f *testing.F) {
	entry := made(f)
	f.Add(entry)
	f.Add(entry[:len(entry)/2&^7])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, all []byte) {
		if _, err := read(all); err != nil && !errors.Is(err, errDamaged) {
			t.Log(err) // refused, for what its numbers say
		}
	})
}
