package ranks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// job returns n ranks that are alike, of which some are changed.
func job(n int, changes map[int]func(*Row)) []Row {
	rows := make([]Row, n)
	for i := range rows {
		r := &rows[i]
		*r = Row{
			Rank: trace.Rank{Job: "a", Rank: i, World: n}, PID: 100 + i, Step: 100, StepDuration: 100e6,
			Allocated: 2 * gib, Reserved: 3 * gib, PeakAllocated: 5 * gib, PeakReserved: 6 * gib, Capacity: 80 * gib,
			Settings: map[string]string{"amp": "bf16", "checkpoint": "none"},
		}
		r.AtPeak[trace.Parameter], r.AtPeak[trace.Optimizer], r.AtPeak[trace.Activation] = gib, gib, 3*gib
		if change := changes[i]; change != nil {
			change(r)
		}
	}
	return rows
}

// holding gives a rank more of a category at its peak.
func holding(c trace.Category, more int64) func(*Row) {
	return func(r *Row) { r.AtPeak[c], r.PeakAllocated = r.AtPeak[c]+more, r.PeakAllocated+more }
}

func TestWhatDiffersBetweenRanksIsSaidWithItsReason(t *testing.T) {
	failing := func(at int64) func(*Row) { return func(r *Row) { r.OutOfMemory, r.FailedAt = 1, at } }
	alone := func(n int) map[int]func(*Row) {
		return map[int]func(*Row){n: holding(trace.Activation, 1200*mib)}
	}
	tests := map[string]struct {
		rows []Row
		want string // a line each: severity, ranks, bytes, text
	}{
		"ranks that are alike":  {job(8, nil), ""},
		"a rank alone":          {job(1, alone(0)), ""},
		"none at all":           {nil, ""},
		"one sample more in 21": {job(4, map[int]func(*Row){1: holding(trace.Activation, 5*gib/20-1)}), ""},
		"one sample more in 20": {
			job(4, map[int]func(*Row){1: holding(trace.Activation, 5*gib/20)}),
			"warning 1 268435456 Rank 1 holds 256.0 MiB more",
		},
		"a few bytes of little": {job(2, map[int]func(*Row){
			0: func(r *Row) { r.PeakAllocated = 10_000 }, 1: func(r *Row) { r.PeakAllocated = 20_000 },
		}), ""},
		"longer sequences": {
			job(8, alone(3)),
			"warning 3 1258291200 Rank 3 holds 1.2 GiB more at its peak than the median, 5.0 GiB: activation +1.2 GiB; it has more samples or longer sequences",
		},
		"of two ranks the larger": {
			job(2, alone(0)),
			"warning 0 1258291200 Rank 0 holds 1.2 GiB more",
		},
		"several": {
			job(8, map[int]func(*Row){
				2: holding(trace.Activation, 2*gib), 4: holding(trace.Input, gib), 5: holding(trace.Input, gib), 6: holding(trace.Input, gib),
			})[:8],
			"warning 2,4,5,6 2147483648 Rank 2 holds 2.0 GiB more at its peak than the median, 5.0 GiB: activation +2.0 GiB; ranks 4-6 hold more too; it has",
		},
		"the embedding on the first stage": {
			job(4, map[int]func(*Row){0: holding(trace.Parameter, gib)}),
			"warning 0 1073741824 Rank 0 holds 1.0 GiB more at its peak than the median, 5.0 GiB: parameter +1.0 GiB; it has weights that the others have not, as the embedding",
		},
		"a replicated buffer in the middle": {
			job(4, map[int]func(*Row){2: holding(trace.Parameter, gib)}),
			"warning 2 1073741824 Rank 2 holds 1.0 GiB more at its peak than the median, 5.0 GiB: parameter +1.0 GiB; it has weights or buffers",
		},
		"a whole copy of what is divided": {
			job(4, map[int]func(*Row){0: holding(trace.Optimizer, 4*gib)}),
			"warning 0 4294967296 Rank 0 holds 4.0 GiB more at its peak than the median, 5.0 GiB: optimizer +4.0 GiB; it has all of what the others divide",
		},
		"gradient buckets beside data": {
			job(4, map[int]func(*Row){1: func(r *Row) { holding(trace.Gradient, gib)(r); holding(trace.Input, gib/2)(r) }}),
			"warning 1 1610612736 Rank 1 holds 1.5 GiB more at its peak than the median, 5.0 GiB: gradient +1.0 GiB and input +512.0 MiB; it keeps gradients",
		},
		"unknown memory of rank 0": {
			job(4, map[int]func(*Row){0: holding(trace.OtherCategory, gib)}),
			"warning 0 1073741824 Rank 0 holds 1.0 GiB more at its peak than the median, 5.0 GiB: other +1.0 GiB; look at what only rank 0 does",
		},
		"one ran out of memory": {
			job(4, map[int]func(*Row){2: failing(0)}),
			"problem 2 5368709120 Rank 2 ran out of memory, and 3 of 4 did not",
		},
		"all ran out of memory, one first": {
			job(2, map[int]func(*Row){0: failing(5_500_000), 1: failing(5_000_000)}),
			"problem 1,0 5368709120 Rank 1 ran out of memory first, 500ms before rank 0",
		},
		"all ran out of memory at no known time": {job(2, map[int]func(*Row){0: failing(0), 1: failing(0)}), ""},
		"other settings": {
			job(4, map[int]func(*Row){3: func(r *Row) {
				r.Settings = map[string]string{"amp": "off", "checkpoint": "none"}
				r.PeakAllocated += mib
			}}),
			"warning 3 1048576 Setting amp is bf16 in ranks 0-2 and off in rank 3; start all ranks with the same settings",
		},
		"a setting that one has not": {
			job(2, map[int]func(*Row){1: func(r *Row) { r.Settings = map[string]string{"amp": "bf16"} }}),
			"warning 1 0 Setting checkpoint is none in rank 0 and not set in rank 1",
		},
		"one grows": {
			job(4, map[int]func(*Row){1: func(r *Row) { r.Growth = 9 * mib }}),
			"warning 1 9437184 Rank 1 grows by 9.0 MiB with each step, the median by 0 B",
		},
		"all grow": {job(2, map[int]func(*Row){0: func(r *Row) { r.Growth = 9 * mib }, 1: func(r *Row) { r.Growth = 9 * mib }}), ""},
		"one is about to run out": {
			job(4, map[int]func(*Row){1: func(r *Row) { r.PeakReserved, r.Growth = 79*gib, 100 }}),
			"warning 1 1073741824 Rank 1 leaves 1.0 GiB of 80.0 GiB free at its peak, the median 74.0 GiB",
		},
		"one is about to run out because of others": {
			job(4, map[int]func(*Row){1: func(r *Row) { r.Others = 74 * gib }}),
			"warning 1 0 Rank 1 leaves 0 B of 80.0 GiB",
		},
		"all are as full": {job(2, map[int]func(*Row){0: func(r *Row) { r.Others = 73 * gib }, 1: func(r *Row) { r.Others = 73 * gib }}), ""},
		"one is lost": {
			job(4, map[int]func(*Row){1: func(r *Row) { r.Problem, r.Host, r.PeakAllocated = "ssh: connection refused", "node2", gib }}),
			"problem 1 2147483648 Rank 1 on node2 cannot be asked: ssh: connection refused",
		},
		"one that is not known by number": {
			job(2, map[int]func(*Row){1: func(r *Row) { *r = Row{Rank: trace.Rank{Rank: Unranked}, PID: 7, Problem: "it is stopped"} }}),
			"problem  0 Process 7 cannot be asked: it is stopped",
		},
		"some are elsewhere": {
			job(8, nil)[2:5],
			"info 0,1,5,6,7 0 5 of 8 ranks are not here: 0-1 and 5-7; they run on another machine",
		},
		"one is slow": {
			job(4, map[int]func(*Row){3: func(r *Row) { r.StepDuration = 130_456_789 }}),
			"info 3 5368709120 Rank 3 took 130ms for its last step, the median 100ms",
		},
		"one is behind": {
			job(4, map[int]func(*Row){3: func(r *Row) { r.Step = 70 }}),
			"info 3 5368709120 Rank 3 is at step 70, the median at 100",
		},
		"one was asked a moment earlier": {job(4, map[int]func(*Row){3: func(r *Row) { r.Step = 71 }}), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			found := Findings(test.rows)
			switch {
			case test.want == "" && len(found) == 0:
			case len(found) != 1 || test.want == "" || !strings.HasPrefix(line(&found[0]), test.want):
				t.Errorf("got %d findings:\n%s\nwant one: %s", len(found), lines(found), test.want)
			}
		})
	}
}

// lined gives all ranks the same memory by line, and one rank more of one line. Some of
// what they have is of no known line.
func lined(more int64, unlined map[int]int64) []Row {
	rows := job(4, map[int]func(*Row){2: holding(trace.Activation, 2*gib)})
	for i := range rows {
		rows[i].Lines, rows[i].Unlined = map[string]int64{"model.py:6 forward": gib, "train.py:9 step": gib}, unlined[i]
	}
	rows[2].Lines["model.py:6 forward"] += more
	return rows
}

func TestTheLineOfWhatARankHoldsMoreIsNamed(t *testing.T) {
	short := func(rows []Row) []Row { rows[1].Lines = nil; return rows }
	alone := func(rows []Row) []Row {
		delete(rows[2].Lines, "train.py:9 step")
		rows[2].Lines["eval.py:3 all"] = gib
		return rows
	}
	for name, test := range map[string]struct {
		rows []Row
		want string // the lines
	}{
		"one line":                                {lined(2*gib, nil), "model.py:6 forward +2.0 GiB"},
		"less than a tenth":                       {lined(2*gib/10-1, nil), ""},
		"a line that only it has":                 {alone(lined(gib, nil)), "eval.py:3 all +1.0 GiB and model.py:6 forward +1.0 GiB"},
		"a rank whose lines are not known":        {short(lined(2*gib, nil)), ""},
		"all have as much without a line":         {lined(2*gib, map[int]int64{0: gib, 1: gib, 2: gib, 3: gib}), "model.py:6 forward +2.0 GiB"},
		"others have more without a line":         {lined(2*gib, map[int]int64{0: gib, 1: gib, 3: gib}), "model.py:6 forward +1.0 GiB"},
		"others have all of it without a line":    {lined(2*gib, map[int]int64{0: 2 * gib, 1: 2 * gib, 3: 2 * gib}), ""},
		"a minority has more without a line":      {lined(2*gib, map[int]int64{0: 2 * gib}), "model.py:6 forward +2.0 GiB"},
		"the rank itself has some without a line": {lined(2*gib, map[int]int64{2: gib}), "model.py:6 forward +2.0 GiB"},
	} {
		t.Run(name, func(t *testing.T) {
			found := Findings(test.rows)
			if len(found) != 1 {
				t.Fatalf("got %s", lines(found))
			}
			_, named, _ := strings.Cut(found[0].Evidence, "; by line ")
			if named != test.want || len(found[0].Lines) != strings.Count(test.want, "+") {
				t.Errorf("got %q and %q, want %q", named, found[0].Lines, test.want)
			}
		})
	}
}

func TestManyRanksAreNotAllListed(t *testing.T) {
	changes := make(map[int]func(*Row))
	for i := range 20 {
		changes[3*i] = holding(trace.Activation, gib)
	}
	found := Findings(job(61, changes))
	if len(found) != 1 || !strings.Contains(found[0].Evidence, "; ranks 3, 6, 9, 12, 15, 18, 21, 24 and 11 others hold more too") || len(found[0].Ranks) != 20 {
		t.Errorf("got %s", lines(found))
	}
}

func TestTheWorstIsSaidFirst(t *testing.T) {
	found := Findings(job(4, map[int]func(*Row){
		0: holding(trace.Activation, gib), 1: func(r *Row) { r.StepDuration = 300e6 }, 2: func(r *Row) { r.OutOfMemory = 1 },
	}))
	want := []string{"problem 2 ", "warning 0 ", "info 1 "}
	for i, f := range found {
		if i >= len(want) || !strings.HasPrefix(line(&f), want[i]) {
			t.Errorf("got\n%s\nwant %q", lines(found), want)
		}
	}
}

func line(f *Finding) string {
	ranks := strings.ReplaceAll(strings.Trim(fmt.Sprint(f.Ranks), "[]"), " ", ",")
	return fmt.Sprintf("%v %s %d %s", f.Severity, ranks, f.Bytes, f.Text())
}

func lines(found []Finding) string {
	var all []string
	for i := range found {
		all = append(all, line(&found[i]))
	}
	return strings.Join(all, "\n")
}
