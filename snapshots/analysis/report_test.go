package analysis_test

import (
	"io"
	"math/rand/v2"
	"testing"

	"memtop/snapshots/analysis"
	"memtop/snapshots/report"
)

func TestReportsOfNonsenseAreWritten(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 9))
		tr := analysis.Nonsense(r)
		x := analysis.NewIndex(tr, &tr.Devices[0])
		report.DiffMoments(x, 0, x, x.End()+1)
		for name, err := range map[string]error{
			"report": report.NewReport(tr).Text(io.Discard, 80),
			"live":   report.LiveOf(x).Text(io.Discard, 80),
			"diff":   report.NewDiff(tr, analysis.Nonsense(r)).Text(io.Discard, 80),
		} {
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
		}
	}
}

func TestALiveReportIsOfOneMoment(t *testing.T) {
	plain := analysis.Breathing()
	x := analysis.Breathing(analysis.Look(plain, 1045), analysis.Look(plain, 1075)) // when much more was reserved than in the end
	r, sum := report.LiveOf(x), int64(0)
	for _, row := range r.Waterfall {
		sum += row.Bytes
	}
	if want := x.ReservedAt(x.End()) + 357<<20; sum != want || *r.Gauges.DeviceUsedBytes != want {
		t.Errorf("the waterfall sums to %d, of %d in use, want %d", sum, *r.Gauges.DeviceUsedBytes, want)
	}
}
