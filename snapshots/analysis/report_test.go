package analysis_test

import (
	"cmp"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestReportsOfNonsenseAreWritten(t *testing.T) {
	fatal.IfShort(t)
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9))
		tr := analysis.Nonsense(r)
		x := analysis.NewIndex(tr, &tr.Devices[0])
		if _, err := report.NewDiffAt(tr, analysis.At(-1), tr, analysis.End); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for name, err := range map[string]error{
			"report": report.New(tr).Text(io.Discard, 80),
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

// TestReportsSayWhatIsFound has traces of every kind of finding that comes of
// random ones.
func TestReportsSayWhatIsFound(t *testing.T) {
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	for seed := range uint64(20) {
		tr := pytorchtest.Random(pytorchtest.Options{Seed: seed, Operations: 200})
		if seed%2 == 0 {
			tr.Live = &trace.Live{}
		}
		var text, live strings.Builder
		r := report.New(tr)
		x := analysis.NewIndex(tr, &tr.Devices[0])
		l := report.LiveOf(x)
		fatal.If(t, cmp.Or(r.Text(&text, 80), l.Text(&live, 80)))
		found := x.Findings()
		if len(found) == 0 || len(found) != len(r.Devices[0].Findings) || len(found) != len(l.Findings) {
			t.Fatalf("seed %d: %d findings, %d and %d in JSON", seed, len(found), len(r.Devices[0].Findings), len(l.Findings))
		}
		for i, f := range found {
			for _, said := range []report.Finding{r.Devices[0].Findings[i], l.Findings[i]} {
				if said.Kind != f.Kind.Name || said.Evidence != f.Evidence || said.Remedy != f.Remedy || said.Bytes != f.Bytes {
					t.Errorf("seed %d: found %+v, JSON has %+v", seed, f, said)
				}
			}
			if !strings.Contains(words(text.String()), f.Text()) || !strings.Contains(words(live.String()), f.Text()) {
				t.Errorf("seed %d: %q is not in\n%s\nor not in\n%s", seed, f.Text(), text.String(), live.String())
			}
		}
	}
}
