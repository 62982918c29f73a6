package whatif

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
)

func TestSavingsAreExactOrNone(t *testing.T) {
	runs := []Run{
		{Settings: "more", PeakReserved: 120},
		{Settings: "less", PeakReserved: 90},
		{Settings: "least", PeakReserved: 60, Note: "of a newer PyTorch"},
		{Settings: "ends", PeakReserved: 10, Ends: true},
		{Settings: "runs out", PeakReserved: 20, OOM: true},
	}
	for name, test := range map[string]struct {
		answer Answer
		want   []Saving
	}{
		"the most first":           {Answer{Again: &Run{PeakReserved: 100}, Runs: runs}, []Saving{{"least", 40, 60, "of a newer PyTorch"}, {"less", 10, 90, ""}}},
		"one that is not exact":    {Answer{Again: &Run{PeakReserved: 100}, Runs: runs, Recorded: Recorded{WhyNot: "it contradicts itself"}}, nil},
		"one without a history":    {Answer{Recorded: Recorded{WhyNot: "no history"}}, nil},
		"nothing would be reduced": {Answer{Again: &Run{PeakReserved: 10}, Runs: runs}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			equal.Values(t, "the result", test.want, test.answer.Savings())
		})
	}
}
