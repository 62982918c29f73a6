package protocol

import (
	"strings"
	"testing"
)

func TestMemoryThatIsNotKnownHasNoMetric(t *testing.T) {
	for name, test := range map[string]struct {
		known *int64
		want  int // families about the memory of now
	}{
		"known as of now":     {nil, 3},
		"known for a while":   {new(int64(1)), 3},
		"not known as of now": {new(int64(0)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			info := &Info{Devices: []DeviceInfo{{Requested: new(int64), Known: test.known}}}
			got := 0
			for _, family := range Metrics([]Measured{{Info: info}}) {
				if len(family.Samples) > 0 && strings.HasSuffix(family.Name, "d_bytes") {
					got++
				}
			}
			if got != test.want {
				t.Errorf("%d families of bytes have a sample, want %d", got, test.want)
			}
		})
	}
}
