package program

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestProgressLine(t *testing.T) {
	e := train.Event{Step: 7, Loss: 2.5, Tokens: 1024, Duration: 2 * time.Second, Skipped: true}
	e.Memory.Allocated, e.Memory.Reserved, e.Memory.PeakAllocated = 512, 20<<20, 3<<30
	want := "step 7/10  loss 2.5000  skipped  512 tokens/s  3.00 GiB peak  20.00 MiB reserved  512 B allocated"
	if got := progress(&e, 10); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestALossThatIsNoNumberIsNull(t *testing.T) {
	for _, loss := range []float64{math.NaN(), math.Inf(1)} {
		text, err := json.Marshal(objectOf(&train.Event{Loss: loss, Settings: train.DefaultSettings()}))
		if err != nil || !strings.Contains(string(text), `"loss":null`) {
			t.Errorf("%v gives %s, %v", loss, text, err)
		}
	}
}

func TestALineIsShortenedByParts(t *testing.T) {
	const line = "step 7  loss 2.5000  1.00 MiB peak"
	tests := map[int]string{80: line, 35: line, 34: "step 7  loss 2.5000", 20: "step 7  loss 2.5000", 8: "step 7", 4: "ste", 1: ""}
	for width, want := range tests {
		if got := shortened(line, width); got != want {
			t.Errorf("%d cells: got %q, want %q", width, got, want)
		}
	}
}

// TestPartsOfAPeakAddUp reads the printed bytes back.
func TestPartsOfAPeakAddUp(t *testing.T) {
	var m train.Memory
	m.PeakAllocated, m.PeakReserved = 6<<20, 8<<20
	m.AtPeak[trace.Parameter], m.AtPeak[trace.Activation] = 1<<20, 4<<20
	m.Highest[trace.Parameter], m.Highest[trace.Activation], m.Highest[trace.Gradient] = 1<<20, 5<<20, 2<<20
	m.Host[trace.Optimizer] = 3 << 20
	var out strings.Builder
	fatal.If(t, printNeeds(&out, "estimate", &m))
	const want = `estimate   6.00 MiB peak = 1.00 MiB parameter + 4.00 MiB activation
           + 1.00 MiB rounding
           at other moments up to 2.00 MiB gradient, 5.00 MiB activation
           8.00 MiB reserved, 3.00 MiB on the host
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheHeaderNamesWhatWasChosen(t *testing.T) {
	var o options
	o.batch, o.dropout = 8, 0.1
	s, err := train.DefaultSettings().With("offload", "optimizer+activations")
	fatal.If(t, err)
	s.Budget = 6 << 20
	want := []string{"batch 8", "adamw", "offload=optimizer+activations", "memory_budget=6MiB", "half=bf16", "dropout=0.1"}
	if diff := cmp.Diff(want, o.howTrained(&s, "bf16")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
