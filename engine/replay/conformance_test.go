package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
)

// forEachShared calls do with every device of the shared snapshots.
func forEachShared(t *testing.T, do func(t *testing.T, name string, tr *trace.Trace, d *trace.Device)) {
	t.Helper()
	folder := pytorchtest.SharedFolder(t)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Skip(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".pickle") && !strings.HasSuffix(name, ".html") {
			continue
		}
		source, err := snapshots.Open(t.Context(), filepath.Join(folder, name), snapshots.Options{})
		fatal.If(t, err)
		tr := source.Trace()
		for i := range tr.Devices {
			t.Run(name, func(t *testing.T) { do(t, name, tr, &tr.Devices[i]) })
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
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
