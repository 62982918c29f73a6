package nn

import (
	"testing"

	"github.com/memtop/memtop/engine/device"
)

func TestAutoKeepsProbabilitiesWhileTheyAreNoMoreThanTheQueries(t *testing.T) {
	tests := map[string]struct {
		rows, width int
		want        device.AttentionKind
	}{
		"fewer rows than a head is wide": {7, 8, device.Naive},
		"as many":                        {8, 8, device.Naive},
		"one more":                       {9, 8, device.Flash},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := AutoAttention.Kind(test.rows, test.width); got != test.want {
				t.Errorf("%d rows of %d: got %v, want %v", test.rows, test.width, got, test.want)
			}
			for _, kind := range device.AttentionKinds() {
				if a, err := ParseAttention(kind.String()); err != nil || a.Kind(test.rows, test.width) != kind {
					t.Errorf("%v, which was asked for, is not used (%v)", kind, err)
				}
			}
		})
	}
}
