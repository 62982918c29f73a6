package probe

import (
	"net/http"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// goingOn is a program that has gone on when its state reaches whoever asked.
type goingOn struct{ *probetest.Program }

func (p goingOn) State(device int, at func()) trace.State {
	s := p.Program.State(device, at)
	p.Run(chunkLen - 7)
	return s
}

func TestASnapshotIsPyTorchsAndLeadsToTheStateOfItsMoment(t *testing.T) {
	p := goingOn{probetest.New()}
	probe := listening(t, p, Options{Ring: 4 * chunkLen, Writer: "a made program"})
	p.Run(20 * chunkLen) // the ring has gone round
	c := newClient(t, probe, "")
	for range 5 {
		status, text := c.ask(t, http.MethodGet, "/v1/snapshot", "")
		if status != http.StatusOK {
			t.Fatalf("%d: %s", status, text)
		}
		checkSnapshot(t, text)
	}
}

func checkSnapshot(t *testing.T, text string) {
	t.Helper()
	got, err := pytorch.Decode(t.Context(), strings.NewReader(text), pytorch.Options{})
	fatal.If(t, err)
	d := &got.Devices[0]
	if d.Events.Len() < 3*chunkLen {
		t.Errorf("only %d events", d.Events.Len())
	}
	if problems := tracetest.Check(got); problems.Count > 0 {
		t.Errorf("%d problems: %v", problems.Count, problems.First)
	}
	last := d.Events.At(d.Events.Len() - 1)
	live := make(map[uint64]bool)
	for _, b := range d.Final.Segments[0].Blocks {
		live[b.Addr] = b.State.Live()
	}
	if live[last.Addr] != (last.Kind == trace.Alloc) {
		t.Errorf("after %v of %x its block is live: %v", last.Kind, last.Addr, live[last.Addr])
	}
	equal.Values(t, "settings", []trace.Setting{{Key: "expandable_segments", Value: false}}, got.Settings)
}
