package ranks

import "testing"

func TestHeadroomIsWhatTheLastStepLeft(t *testing.T) {
	tests := map[string]struct {
		row  Row
		want int64
		ok   bool
	}{
		"of a step":                         {Row{Capacity: 100, Others: 10, PeakReserved: 60, Reserved: 50}, 30, true},
		"more is reserved since":            {Row{Capacity: 100, Others: 10, PeakReserved: 60, Reserved: 70}, 20, true},
		"before the first step":             {Row{Capacity: 100, Others: -1, Reserved: 70}, 30, true},
		"less than nothing, on a host":      {Row{Capacity: 100, Others: 50, PeakReserved: 60}, -10, true},
		"of a device of unknown capacity":   {Row{Capacity: -1, PeakReserved: 60}, 0, false},
		"of a device that nobody looked at": {Row{PeakReserved: 60}, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, ok := test.row.Headroom(); got != test.want || ok != test.ok {
				t.Errorf("got %d, %t, want %d, %t", got, ok, test.want, test.ok)
			}
		})
	}
}

func TestMedianPeakLeavesOutRanksWithoutAStep(t *testing.T) {
	rows := []Row{{PeakAllocated: 30}, {PeakAllocated: 10}, {}, {PeakAllocated: 20}, {PeakAllocated: 90}}
	if got := MedianPeak(rows); got != 20 {
		t.Errorf("got %d, want 20", got)
	}
	if got := MedianPeak(nil); got != 0 {
		t.Errorf("of nothing: got %d, want 0", got)
	}
}
