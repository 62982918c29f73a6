package protocol

import (
	"testing"
	"time"
)

// TestDurationsHaveOneUnit is what rule S9 of docs/protocol.md says: "1m0s" has two.
func TestDurationsHaveOneUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Minute: "60000ms", 1500 * time.Millisecond: "1500ms", 0: "0ms", 2*time.Millisecond + 1: "2000001ns",
	} {
		got := Duration(d)
		if back, err := time.ParseDuration(got); got != want || err != nil || back != d {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
