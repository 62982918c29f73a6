package program

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"memtop/engine/train"
)

func TestProgressLine(t *testing.T) {
	e := train.Event{Step: 7, Loss: 2.5, Tokens: 1024, Duration: 2 * time.Second, Skipped: true}
	e.Memory.Allocated, e.Memory.Reserved, e.Memory.PeakAllocated = 512, 20<<20, 3<<30
	want := "step 7/10  loss 2.5000  512 tokens/s  512 B allocated  20.00 MiB reserved  3.00 GiB peak  skipped"
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
