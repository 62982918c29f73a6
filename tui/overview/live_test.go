package overview

import (
	"math"
	"testing"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
)

// TestTheScaleOfBars has sizes that no device has and a program may claim: the
// power of two above them is not a number of 64 bits.
func TestTheScaleOfBars(t *testing.T) {
	tr := &trace.Trace{Tables: &trace.Tables{}, Devices: []trace.Device{{}}}
	p := &Page{Body: page.Body{Scene: &page.Scene{Index: analysis.NewIndex(tr, &tr.Devices[0])}}}
	for most, want := range map[int64]int64{
		1: 1, 3: 4, 1 << 30: 1 << 30, 1<<30 + 1: 1 << 31, 1 << 62: 1 << 62, 1<<62 + 1: 1<<62 + 1, math.MaxInt64: math.MaxInt64,
	} {
		if got := p.scale(most); got != want {
			t.Errorf("the bar of %d bytes stands for %d, want %d", most, got, want)
		}
	}
}
