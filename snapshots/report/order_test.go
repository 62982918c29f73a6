package report

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"

	"github.com/google/go-cmp/cmp"
)

// TestTheReportBeginsWithTheDeviceThatRanOut has a busy device before and after
// it, and one that ran out later.
func TestTheReportBeginsWithTheDeviceThatRanOut(t *testing.T) {
	busy := strings.Repeat("alloc 0x100 512 @1\nfree_completed 0x100 512 @2\n", 20)
	r := New(tracetest.Parse(t, "device 0\n"+busy+"device 1\noom 0 1024 @9\ndevice 2\noom 0 512 @3\nalloc 0x100 512 @4\noom 0 2048 @5\ndevice 3\n"+busy))
	text := pageOf(t, r, 100)
	var got []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "Device ") || strings.HasPrefix(line, "  X ") {
			got = append(got, line[:min(len(line), 29)])
		}
	}
	want := []string{
		"Device 2: 3 events, 0 segment", "  X Out of memory at event 2:", "  X Out of memory at event 0:",
		"Device 1: 1 event, 0 segments", "  X Out of memory at event 0:", "Device 0: 40 events, 0 segmen", "Device 3: 40 events, 0 segmen",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range r.Devices {
		if r.Devices[i].Device != i {
			t.Errorf("device %d stands at %d in JSON", r.Devices[i].Device, i)
		}
	}
}
