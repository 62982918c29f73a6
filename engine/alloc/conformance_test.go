package alloc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memtop/snapshots"
	"memtop/snapshots/pytorch/pytorchtest"
	"memtop/snapshots/trace"
)

// TestRealTracesReplayEventByEvent is the conformance test: what PyTorch
// recorded on real devices comes out again, every event equal in kind, address,
// size and stream, and then the final segments and blocks.
func TestRealTracesReplayEventByEvent(t *testing.T) {
	folder := pytorchtest.SharedFolder(t)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Skip(err)
	}
	events, devices := 0, 0
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".pickle") && !strings.HasSuffix(name, ".html") {
			continue
		}
		source, err := snapshots.Open(t.Context(), filepath.Join(folder, name), snapshots.Options{})
		if err != nil {
			t.Fatal(err)
		}
		tr := source.Trace()
		for i := range tr.Devices {
			d := &tr.Devices[i]
			if d.Events.Len() <= 1 {
				continue // one entry is what recording only the state leaves: no history
			}
			t.Run(name, func(t *testing.T) {
				replayed := replay(t, tr, d, !strings.HasPrefix(name, "trimmed_by_hand"))
				events += replayed
				devices++
			})
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d events of %d traces came out equal", events, devices)
}

// replay returns how many events came out right. The final state of a file
// whose author took segments out of it cannot be compared.
func replay(t *testing.T, tr *trace.Trace, d *trace.Device, whole bool) int {
	t.Helper()
	r := newReplayer(t, tr, d)
	r.run()
	if r.wrong != "" {
		t.Error(r.wrong)
	}
	if r.done != len(r.want) {
		t.Errorf("%d of %d events came out right", r.done, len(r.want))
	}
	if whole {
		if diff := cmp.Diff(essence(tr.Tables, &d.Final), r.final()); diff != "" {
			t.Errorf("the final state differs (-recorded +ours):\n%s", diff)
		}
	} else {
		t.Log("the final state is not compared: segments were taken out of this file")
	}
	checkRecount(t, r.a)
	return r.done
}

// final returns the essence of the allocator's state.
func (r *replayer) final() []segmentEssence {
	r.a.recorder = nil
	tr := r.a.Snapshot()
	return essence(tr.Tables, &tr.Devices[0].Final)
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
