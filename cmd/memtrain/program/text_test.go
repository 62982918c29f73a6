package program

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/memtop/memtop/engine/train"
)

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
