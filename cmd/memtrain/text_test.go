package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"memtop/engine/train"
)

func TestSizes(t *testing.T) {
	tests := map[string]int64{
		"2147483648": 2 << 30, "2GiB": 2 << 30, "2G": 2 << 30, "1.5g": 3 << 29, "512MiB": 512 << 20, "64k": 64 << 10, "100B": 100,
	}
	for text, want := range tests {
		var s, again size
		if err := s.Set(text); err != nil || int64(s) != want {
			t.Errorf("%q is %d, %v; want %d", text, s, err, want)
		}
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%q prints as %q, which is %d, %v", text, s.String(), again, err)
		}
	}
	for _, text := range []string{"", "lots", "-1", "0", "1XiB", "1GG", "9e30", "NaN", "GiB"} {
		var s size
		if err := s.Set(text); err == nil {
			t.Errorf("%q was accepted as %d", text, s)
		}
	}
}

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
