package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
)

// printed is what report --json prints of a trace.
func printed(tb testing.TB, t *trace.Trace) []byte {
	tb.Helper()
	text, err := json.MarshalIndent(New(t), "", "  ")
	fatal.If(tb, err)
	return text
}

// recorded is a trace with a step that its program measured, and a rank.
func recorded(t *testing.T) *trace.Trace {
	t.Helper()
	tr := growingTrace(t, 8, mib)
	tr.Steps = []trace.Step{{Number: 9, Duration: 5, PeakAllocated: 7 * mib, PeakReserved: 8 * mib, AtPeak: []trace.Amount{{Name: "activation", Bytes: mib}}, Settings: []trace.Value{{Key: "amp", Value: "off"}}}}
	tr.Live = &trace.Live{Rank: &trace.Rank{Job: "a", Rank: 3, World: 8, Local: 1}}
	return tr
}

func TestAnAnswerIsAsGoodAsItsSnapshot(t *testing.T) {
	cut := growingTrace(t, 8, mib)
	cut.Info.Path, cut.Info.Truncated = "/far/away/rank2.pickle", true
	for name, tr := range map[string]*trace.Trace{
		"growing": growingTrace(t, 8, mib), "few steps": growingTrace(t, 2, mib), "a recording": recorded(t), "cut": cut,
		"several devices": pytorchtest.Random(pytorchtest.Options{Seed: 7, Devices: 3, Operations: 400}),
		"memory without a stack": tracetest.Parse(t, tracetest.Frames+`
device 0
alloc 0x100000 1024 @1 stack=act
alloc 0x100400 512 @2
segment 0x100000 2097152 type="small"
block 0x100000 1024 active_allocated requested=1024 stack=act
block 0x100400 512 active_allocated requested=512
block 0x100600 2048 active_allocated requested=2048
block 0x100e00 2093568 inactive
`),
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ReadAnswer(printed(t, tr))
			fatal.If(t, err)
			f := ranks.File{Path: "answers/rank3.json", Place: trace.Rank{Rank: 3}}
			if a.Place != nil {
				f.Place = *a.Rank()
			}
			want := RankRow(&f, ranks.Fullest(analysis.Indexes(tr)))
			if tr.Info.Path != "" {
				want.Name = tr.Info.Path
			}
			if got := a.Row(&f); !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
			if a.Source.Truncated != tr.Info.Truncated {
				t.Errorf("cut: %v", a.Source.Truncated)
			}
			for _, limits := range []Limits{{0, NoLimit, NoLimit}, {1 << 40, NoLimit, NoLimit}, {NoLimit, 0, NoLimit}, {3000, 1 << 40, NoLimit}, {0, 0, 0}} {
				got, gotErr := a.Gate(limits)
				want, wantErr := NewGate(tr, limits)
				if !reflect.DeepEqual(gotErr, wantErr) {
					t.Errorf("%+v: got %v, want %v", limits, gotErr, wantErr)
				} else if wantErr == nil && (pageOf(t, got, 60) != pageOf(t, want, 60) || got.Broken() != want.Broken() || got.OK != want.OK) {
					t.Errorf("%+v: got\n%s\nwant\n%s", limits, pageOf(t, got, 60), pageOf(t, want, 60))
				}
			}
		})
	}
}

func TestWhatIsNoAnswerIsRefused(t *testing.T) {
	good := string(printed(t, recorded(t)))
	change := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("no %s in %s", from, good)
		}
		return strings.Replace(good, from, to, 1)
	}
	site := `{"bytes": 1}`
	for name, test := range map[string]struct{ text, want string }{
		"cut":                      {good[:len(good)/2], "unexpected end"},
		"of another kind":          {change("memtop.report/1", "memtop.ranks/1"), `it has "memtop.ranks/1"`},
		"a text for a number":      {change(`"peak_requested_bytes": `, `"peak_requested_bytes": "x", "y": `), "cannot unmarshal string"},
		"a number that is too big": {change(`"peak_requested_bytes": `, `"peak_requested_bytes": 1`+strings.Repeat("0", 30)+`, "y": `), "cannot unmarshal number"},
		"a rank of no job":         {change(`"rank": 3`, `"rank": 8`), "it is of rank 8 of 8"},
		"a rank below 0":           {change(`"rank": 3`, `"rank": -1`), "it is of rank -1 of 8"},
		"of an older memtop":       {change(`"compared"`, `"other"`), "did not yet compare"},
		"of no device":             {change(`"devices"`, `"others"`), "no report has such devices"},
		"not of the fullest":       {change("\"compared\": {\n    \"device\": 0", "\"compared\": {\n    \"device\": 1"), "no report has such devices"},
		"without what limits need": {change(`"measures"`, `"others"`), "no report has such devices"},
		"too many lines":           {change(`"lines_at_peak": [`, `"lines_at_peak": [`+strings.Repeat("{},", reportedLines+1)), "no report has such devices"},
		"too many sites":           {change(`"sites": [`, `"sites": [`+strings.Repeat(site+",", gateSites)), "no report has such devices"},
		"too large":                {good + strings.Repeat(" ", MostAnswer), "it has more than 8.0 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadAnswer([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add(printed(f, tracetest.Parse(f, tracetest.Frames+"device 0\nalloc 0x100000 1024 @1 stack=act\n")))
	f.Add([]byte(`{"schema":"memtop.report/1","compared":{"step":-9223372036854775808,"growth_bytes_per_step":9223372036854775807,"capacity_bytes":1,"out_of_memory":1},
		"devices":[{"measures":{"peak":{"requested_bytes":-9223372036854775808,"sites":[{"frames":[]},{"frames":["/"]}]}}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := ReadAnswer(text)
		if err != nil {
			return
		}
		var rows []ranks.Row
		var each []json.RawMessage
		for i := range 3 {
			row := a.Row(&ranks.File{Path: "x", Place: trace.Rank{Rank: i}})
			if i == 0 {
				row.PeakAllocated, row.Capacity, row.Lines = 1, 0, map[string]int64{}
			}
			rows, each = append(rows, row), append(each, a.OfRank(&row))
		}
		r, err := NewRanks(rows, each)
		fatal.If(t, err)
		r.SetIterations([][]ranks.Row{rows, rows})
		_, err = json.Marshal(r)
		fatal.If(t, err, r.Text(io.Discard, 40))
		for _, limits := range []Limits{{0, 0, 0}, {0, NoLimit, NoLimit}, {NoLimit, 0, NoLimit}} {
			if gate, err := a.Gate(limits); err == nil {
				fatal.If(t, gate.Text(io.Discard, 40))
			}
		}
	})
}

func TestOutliersOfManyRanksComeFirst(t *testing.T) {
	rows := make([]ranks.Row, 1024)
	for i := range rows {
		rows[i] = ranks.Row{Rank: trace.Rank{Rank: i}, Name: fmt.Sprintf("rank%d.pickle", i), PeakAllocated: 8 * mib}
	}
	rows[700].PeakAllocated, rows[1000].PeakAllocated = 10*mib, 12*mib
	r, err := NewRanks(rows, make([]json.RawMessage, len(rows)))
	fatal.If(t, err)
	text := pageOf(t, r, 80)
	wantIn(t, text, "FILE\n1000 ", "rank1000.pickle\n 700 ", "rank700.pickle\n   0 ", "rank9.pickle\n      and 1,012 more ranks; --json has all\n")
	if n := strings.Count(text, "\n"); n > 23 {
		t.Errorf("the page has %d lines", n)
	}
}

func TestIterationsHaveARowEach(t *testing.T) {
	row := func(rank int, folder string, peak int64) ranks.Row {
		return ranks.Row{Rank: trace.Rank{Rank: rank}, Name: fmt.Sprintf("%s/rank%d.pickle", folder, rank), PeakAllocated: peak}
	}
	lost := ranks.Row{Rank: trace.Rank{Rank: 0}, Name: "d/i2/rank0.pickle", Problem: "it is empty"}
	for name, test := range map[string]struct {
		all   [][]ranks.Row
		wants []string
	}{
		"the highest rank and its growth": {
			[][]ranks.Row{{row(0, "d/i1", 9*mib), row(1, "d/i1", 8*mib)}, {row(0, "d/i2", 9*mib), row(1, "d/i2", 11*mib)}},
			[]string{"        9.0 MiB     0           -  d/i1\n", "       11.0 MiB     1    +3.0 MiB  d/i2\n", "What rank 1 has more", "  memtop diff d/i1/rank1.pickle d/i2/rank1.pickle --at peak\n"},
		},
		"since the iteration before": {
			[][]ranks.Row{{row(0, "d/i1", 5*mib)}, {row(0, "d/i2", 9*mib)}, {row(0, "d/i3", 11*mib)}},
			[]string{"        9.0 MiB     0    +4.0 MiB  d/i2\n", "       11.0 MiB     0    +2.0 MiB  d/i3\n", "  memtop diff d/i1/rank0.pickle d/i3/rank0.pickle --at peak\n"},
		},
		"one that was not there before": {
			[][]ranks.Row{{row(0, "d/i1", 9*mib)}, {row(1, "d/i2", 11*mib)}},
			[]string{"       11.0 MiB     1           -  d/i2\n"},
		},
		"one that cannot be read": {
			[][]ranks.Row{{row(0, "d/i1", 9*mib)}, {lost}},
			[]string{"              -     0           -  d/i2\n"},
		},
		"one whose rank is not known": {
			[][]ranks.Row{{row(ranks.Unranked, "d/i1", 9*mib)}, {row(ranks.Unranked, "d/i2", 11*mib)}},
			[]string{"       11.0 MiB     ?           -  d/i2\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			last := test.all[len(test.all)-1]
			r, err := NewRanks(last, make([]json.RawMessage, len(last)))
			fatal.If(t, err)
			r.SetIterations(test.all)
			text := pageOf(t, r, 80)
			wantIn(t, text, test.wants...)
			if len(test.wants) == 1 && strings.Contains(text, "diff") {
				t.Errorf("it compares what is not known:\n%s", text)
			}
		})
	}
}

// BenchmarkAnswers reads 1,024 answers of about 100 KiB on one core, and merges them.
func BenchmarkAnswers(b *testing.B) {
	tr := pytorchtest.Random(pytorchtest.Options{Seed: 3, Operations: 300})
	for i := range tr.Tables.Frames {
		tr.Tables.Frames[i].Name = trace.StringID(len(tr.Tables.Strings))
	}
	tr.Tables.Strings = append(tr.Tables.Strings, strings.Repeat("x", 500))
	text := printed(b, tr)
	b.SetBytes(1024 * int64(len(text)))
	for b.Loop() {
		var rows []ranks.Row
		for i := range 1024 {
			a, err := ReadAnswer(text)
			fatal.If(b, err)
			rows = append(rows, a.Row(&ranks.File{Place: trace.Rank{Rank: i}}))
		}
		r, err := NewRanks(rows, make([]json.RawMessage, len(rows)))
		fatal.If(b, err, r.Text(io.Discard, 80))
	}
}
