package replay

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

// forEachShared calls do with every device of the shared snapshots.
func forEachShared(t *testing.T, do func(t *testing.T, name string, tr *trace.Trace, d *trace.Device)) {
	t.Helper()
	onfile.Shared(t, func(t *testing.T, name string, tr *trace.Trace) {
		t.Helper()
		for i := range tr.Devices {
			do(t, name, tr, &tr.Devices[i])
		}
	})
}

// TestRealTracesReplayEventByEvent is the conformance test of package alloc: what
// PyTorch recorded on real devices comes out again, every event equal in kind,
// address, size and stream, and then the final segments and blocks.
func TestRealTracesReplayEventByEvent(t *testing.T) {
	events, devices := 0, 0
	forEachShared(t, func(t *testing.T, name string, tr *trace.Trace, d *trace.Device) {
		t.Helper()
		if d.Events.Len() <= 1 {
			return // one entry is what recording only the state leaves: no history
		}
		events += follow(t, tr, d, !strings.HasPrefix(name, "trimmed_by_hand"))
		devices++
	})
	t.Logf("%d events of %d traces came out equal", events, devices)
}

// follow returns how many events came out right. The final state of a file
// whose author took segments out of it cannot be compared.
func follow(t *testing.T, tr *trace.Trace, d *trace.Device, whole bool) int {
	t.Helper()
	base := startOf(tr, d)
	r, err := newRecording(tr, d, whatif.SettingsOf(tr, d), alloc.Rules{}, &base.state, nil)
	fatal.If(t, err)
	if err := r.run(t.Context()); err != nil || r.wrong != "" {
		t.Fatalf("event %d: %s (%v)", r.at, r.wrong, err)
	}
	r.a.Observe(nil)
	final := r.a.Snapshot()
	if !whole {
		t.Log("the final state is not compared: segments were taken out of this file")
	} else if diff := cmp.Diff(essence(tr.Tables, &d.Final), essence(final.Tables, &final.Devices[0].Final)); diff != "" {
		t.Errorf("the final state differs (-recorded +ours):\n%s", diff)
	}
	return r.done
}

type segmentEssence struct {
	Addr       uint64
	Size       int64
	Stream     uint64
	Type       string
	Pool       trace.Pool
	Expandable bool
	Blocks     []blockEssence
}

type blockEssence struct {
	Addr            uint64
	Size, Requested int64
	State           string
}

// essence is what must be equal of a state. What an inactive block was last
// asked for is not: it depends on what happened before recording began.
func essence(tables *trace.Tables, state *trace.State) []segmentEssence {
	list := make([]segmentEssence, 0, len(state.Segments))
	for i := range state.Segments {
		s := &state.Segments[i]
		e := segmentEssence{
			Addr: s.Addr, Size: s.Size, Stream: tables.Streams[s.Stream], Type: tables.Strings[s.Type],
			Pool: tables.Pools[s.Pool], Expandable: s.Expandable,
		}
		for k := range s.Blocks {
			b := &s.Blocks[k]
			e.Blocks = append(e.Blocks, blockEssence{b.Addr, b.Size, b.LiveRequested(), b.State.String()})
		}
		list = append(list, e)
	}
	return list
}

const mib = 1 << 20

// random is a program that makes calls which a replay can tell from the events:
// there is one side stream and no private pool.
type random struct {
	t      *testing.T
	rnd    *rand.Rand
	driver *counted
	a      *alloc.Allocator
	held   []alloc.Allocation
	ooms   int
}

func newRandom(t *testing.T, seed uint64, total int64, o alloc.Options) *random {
	t.Helper()
	r := &random{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), driver: newCounted(total)}
	a, err := alloc.New(r.driver, o)
	fatal.If(t, err)
	r.a = a
	return r
}

func (r *random) step() {
	switch n := r.rnd.IntN(1000); {
	case n < 520 || len(r.held) == 0:
		b, err := r.a.Alloc(1+r.rnd.Int64N(2<<20), alloc.Stream(r.rnd.IntN(2)), alloc.Tag{})
		if err != nil {
			r.ooms++
			return
		}
		r.held = append(r.held, b)
	case n < 900:
		r.a.Free(r.take())
	case n < 950:
		b := r.take()
		r.a.RecordStream(b, 5)
		r.a.Free(b)
	case n < 995:
		for e := range r.driver.last {
			r.driver.ready[e+1] = true // all that is queued has happened
		}
	default:
		r.a.EmptyCache()
	}
}

func (r *random) take() alloc.Allocation {
	i := r.rnd.IntN(len(r.held))
	b := r.held[i]
	r.held = append(r.held[:i], r.held[i+1:]...)
	return b
}

// trace records so many calls and returns the last events.
func (r *random) trace(calls int) *trace.Trace {
	for range calls {
		r.step()
	}
	return r.a.Snapshot()
}

// TestOwnTracesFromTheBeginReplayEventByEvent replays programs that run out of memory
// again and again. There is nothing that a replay has to guess.
func TestOwnTracesFromTheBeginReplayEventByEvent(t *testing.T) {
	for name, config := range map[string]string{
		"the defaults": "", "expandable segments": "expandable_segments:True", "oversize blocks": "max_split_size_mb:21",
		"divided powers of two": "roundup_power2_divisions:4",
	} {
		t.Run(name, func(t *testing.T) {
			ooms := 0
			for seed := range uint64(12) {
				r := newRandom(t, seed, 150*mib, alloc.Options{Config: config, History: 1 << 20})
				tr := r.trace(3000)
				follow(t, tr, &tr.Devices[0], true)
				ooms += r.ooms
			}
			if ooms == 0 {
				t.Error("no request failed: the programs are too tame")
			}
		})
	}
}

// TestOwnTracesReplayEventByEvent replays what our allocator recorded itself, from
// the middle on: it shows that the replay of the conformance test does what it
// should with pending frees, emptied caches, failures and expandable segments,
// which the public traces hardly have.
func TestOwnTracesReplayEventByEvent(t *testing.T) {
	for name, config := range map[string]string{
		"the defaults": "", "expandable segments": "expandable_segments:True",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRandom(t, 7, 150*mib, alloc.Options{Config: config, History: 4000})
			tr := r.trace(4000)
			if !tr.Devices[0].Overflowed {
				t.Error("the recording does not begin in the middle")
			}
			stats := r.a.Stats()
			if r.ooms == 0 || stats.DeviceFrees == 0 || stats.SyncAllStreams == 0 {
				t.Errorf("%d failures, %d segments back, %d waits: the program is too tame",
					r.ooms, stats.DeviceFrees, stats.SyncAllStreams)
			}
			follow(t, tr, &tr.Devices[0], true)
		})
	}
}

// TestFilesOfNewSettingsReplayEventByEvent has files that PyTorch 2.15 wrote on the
// imitated GPU: one with a reserve of expandable segments, which a request exceeds,
// and one with memory that was asked for at an address.
func TestFilesOfNewSettingsReplayEventByEvent(t *testing.T) {
	const withReserve = "expandable_segments:True,expandable_segments_reserve:4G"
	for name, settings := range map[string]string{"reserve.torch2.15": withReserve, "addressed.torch2.15": ""} {
		t.Run(name, func(t *testing.T) {
			a := ask(t, whatif.Question{Trace: onfile.Trace(t, "../../snapshots/pytorch/testdata/"+name+".pickle.gz"), Event: -1})
			if a.Recorded.WhyNot != "" || a.Recorded.Settings != settings {
				t.Errorf("under %q: %s", a.Recorded.Settings, a.Recorded.WhyNot)
			}
			if settings == "" {
				return
			}
			at := slices.IndexFunc(a.Runs, func(r whatif.Run) bool { return r.Settings == "expandable_segments:True" })
			if at < 0 || !a.Runs[at].Fits || a.Again.Fits {
				t.Errorf("without its reserve the request is to fit, with it not: %+v and %+v", a.Again, a.Runs)
			}
			if text := strings.Join(a.Sentences(), " "); !strings.Contains(text, "78.7 GiB reserved: expandable_segments_reserve lets") {
				t.Error(text)
			}
		})
	}
}

func TestTheWritersNameGivesItsRules(t *testing.T) {
	for writer, want := range map[string][]string{
		"PyTorch 2.5–2.7":         {"2.5"},
		"PyTorch 2.12–2.13":       {"2.12", "2.13"},
		"PyTorch 2.14 or later":   {"2.14"},
		"memtop, as PyTorch 2.10": {"2.10"},
		"PyTorch 1.13":            {""},
		"memtrain":                {""},
	} {
		got := rulesOf(writer, "")
		if len(got) != len(want) {
			t.Fatalf("%s: %v", writer, got)
		}
		for i := range got {
			if got[i].String() != want[i] {
				t.Errorf("%s: rules of %q, want %q", writer, got[i], want[i])
			}
		}
	}
	if got := rulesOf("PyTorch 2.8", "large_segment_size_mb:40"); got[0].String() != "" {
		t.Errorf("a release that refuses the recorded settings is taken for their writer: %v", got)
	}
}
