package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestWhatTheSizesOfARehearsalAreWorth(t *testing.T) {
	some := func(kind string) DependsOnData {
		return DependsOnData{Line: kind + ".py:1", What: "x = " + kind, Kind: kind, Count: 2}
	}
	known := some("size")
	known.AtMost = new(int64)
	*known.AtMost = 3 << 20
	given := some("integer")
	given.Given = true
	for name, test := range map[string]struct {
		values    string
		because   []string
		reads     []DependsOnData
		gaps      []NotImitated
		want, say string
	}{
		"nothing is read":             {ValuesZeros, nil, nil, nil, BoundExact, "Exact: these"},
		"a condition":                 {ValuesZeros, nil, []DependsOnData{some("condition")}, nil, BoundBranches, "the same branches"},
		"a loss that is printed":      {ValuesUpper, nil, []DependsOnData{some("number")}, nil, BoundBranches, "the same branches"},
		"a library's workspace":       {ValuesZeros, []string{"cuDNN: ours"}, []DependsOnData{some("number")}, nil, BoundModelled, "Modelled"},
		"work of another stream":      {ValuesZeros, nil, nil, nil, BoundTiming, "by timing: when"},
		"a count":                     {ValuesZeros, []string{"cuDNN: ours"}, []DependsOnData{known, some("number")}, nil, BoundLower, "at most 3.0 MiB"},
		"a count at its most":         {ValuesUpper, []string{"cuDNN: ours"}, []DependsOnData{known, some("condition")}, nil, BoundUpper, "An upper bound"},
		"a whole number":              {ValuesZeros, nil, []DependsOnData{some("integer")}, nil, BoundLower, "A lower bound"},
		"one that has no most":        {ValuesUpper, nil, []DependsOnData{known, some("integer")}, nil, BoundOpen, "--set"},
		"several values":              {ValuesUpper, nil, []DependsOnData{some("values")}, nil, BoundOpen, "--set"},
		"one that the user gave":      {ValuesUpper, nil, []DependsOnData{known, given}, nil, BoundUpper, "as --set says"},
		"a function is not imitated":  {ValuesZeros, nil, nil, []NotImitated{{"f", "library", 1}}, BoundOpen, "not imitated"},
		"the same line of many ranks": {ValuesZeros, nil, []DependsOnData{some("size"), known}, nil, BoundLower, "size.py:1 4x at most 3.0 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			r := rehearsalOn(8 * gib)
			r.Values, r.Because, r.DependsOnData, r.NotImitated = test.values, test.because, test.reads, test.gaps
			if test.want == BoundTiming {
				r.Timing = []string{"when", "when"}
			}
			r.Add(RehearsedOn{PeakAllocated: gib}, nil, false)
			r.Conclude()
			if r.Bound != test.want || r.Exact != (test.want == BoundExact) || (r.BoundBytes != nil) != r.Exact {
				t.Errorf("%s, exact %v, within %v; want %s", r.Bound, r.Exact, r.BoundBytes, test.want)
			}
			if text := textOf(t, r, 100); !strings.Contains(text, test.say) {
				t.Errorf("no %q in %s", test.say, text)
			}
		})
	}
}

func TestASecondRunDecidesWhetherSizesDependOnValues(t *testing.T) {
	of := func(bytes int64) *Rehearsal {
		log := tracetest.Parse(t, fmt.Sprintf("memtop-trace 1\ndevice 0\nsegment_alloc 0x100000000 2097152 @1\nalloc 0x100000000 %d @2\n", bytes))
		r := rehearsalOn(8 * gib)
		r.DependsOnData = []DependsOnData{{Line: "a.py:1", Kind: "values", Count: 2}}
		r.Add(RehearsedOn{PeakAllocated: bytes}, New(log), false)
		r.Conclude()
		return r
	}
	for name, test := range map[string]struct {
		other     *Rehearsal
		want, say string
	}{
		"the same requests": {of(512), BoundExact, "made the same requests"},
		"another size":      {of(1024), BoundLower, "its peak is 1.0 KiB allocated"},
		"no device":         {rehearsalOn(gib), BoundLower, "A lower bound"},
	} {
		t.Run(name, func(t *testing.T) {
			r := of(512)
			if !r.Undecided() {
				t.Fatal("a line with values decides")
			}
			r.Compare(test.other)
			if text := textOf(t, r, 200); r.Bound != test.want || !strings.Contains(text, test.say) {
				t.Errorf("%s, no %q in %s", r.Bound, test.say, text)
			}
		})
	}
}

func TestAProgramThatFailedSaysSoFirst(t *testing.T) {
	for name, test := range map[string]struct {
		error string
		used  bool
		want  string
		reads []DependsOnData
	}{
		"at import":           {"ModuleNotFoundError: No module named 'x' (train.py:3)", false, "The program failed with exit code 2: ModuleNotFoundError: No module named 'x' (train.py:3) It failed before it used an imitated NVIDIA A of 8.0 GiB.", nil},
		"without a word":      {"", false, "The program failed with exit code 2. It failed before it used", nil},
		"after some training": {"ValueError: no (train.py:9)", true, "The program failed with exit code 2: ValueError: no (train.py:9) Until it failed it fitted on an imitated NVIDIA A of 8.0 GiB, with 7.0 GiB left.", nil},
		"where it reads":      {"IndexError: no (a.py:1)", true, "The program failed with exit code 2: IndexError: no (a.py:1) That line reads a value that is not known: --set a.py:1=VALUE says one. Until it failed", []DependsOnData{{Line: "a.py:1"}}},
		"of a made-up value":  {"IndexError: no (train.py:9)", true, "The program failed with exit code 2: IndexError: no (train.py:9) It read values that are not known, at the lines below; one of them may be the cause. Until it failed", []DependsOnData{{Line: "a.py:1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := rehearsalOn(8 * gib)
			r.DependsOnData = test.reads
			r.ExitCode, r.Error, r.Ended = 2, test.error, "exit"
			if test.used {
				r.Add(RehearsedOn{DeviceBytes: gib}, nil, false)
			}
			r.Conclude()
			if text := textOf(t, r, 100); !strings.HasPrefix(text, test.want) || strings.Contains(text, "ran to its end") {
				t.Errorf("%q does not begin with %q", text, test.want)
			}
		})
	}
}

func TestAProgramThatCrashedAfterItsEndIsMeasured(t *testing.T) {
	run := func(ended string, code int) *Rehearsal {
		r := rehearsalOn(8 * gib)
		r.Ended, r.ExitCode = ended, code
		r.Add(RehearsedOn{DeviceBytes: gib}, nil, false)
		r.Conclude()
		return r
	}
	for name, test := range map[string]struct {
		joined *Rehearsal
		want   string
	}{
		"it crashed":         {run(Crashed, 134), "ran to its end; Python crashed only after that, so the numbers hold."},
		"so did one of many": {run(Crashed, 134).Join(run("exit", 0)).Join(run(Crashed, 139)), "Python crashed only after that"},
		"another failed":     {run(Crashed, 134).Join(run("", 1)), "The program failed with exit code 134."},
		"one failed before":  {run("", 1).Join(run(Crashed, 134)), "The program failed with exit code 134."},
	} {
		if text := textOf(t, test.joined, 200); !strings.Contains(text, test.want) {
			t.Errorf("%s: no %q in %s", name, test.want, text)
		}
	}
}

// sixtyFour are the rows of a large job on two machines, of which one rank holds more and
// one is lost.
func sixtyFour() []ranks.Row {
	rows := make([]ranks.Row, 64)
	for i := range rows {
		r := &rows[i]
		*r = ranks.Row{
			Rank: trace.Rank{Job: "a-job-with-a-long-name\x1b[2J", Rank: i, World: 64}, PID: 4_194_000 + i, Host: "node1", Step: 123_456,
			Allocated: 1023 << 20, PeakAllocated: 1022 << 20, PeakReserved: 1 << 30, Capacity: 80 << 30,
		}
		r.AtPeak[trace.Activation] = 1021 << 20
	}
	rows[3].PeakAllocated, rows[3].AtPeak[trace.Activation] = 2<<30, 2<<30
	rows[7].Problem = "process 4194007 does not answer"
	return rows
}

func TestATableOfRanksIsReadOnEightyColumns(t *testing.T) {
	r, err := NewRanks(sixtyFour(), make([]json.RawMessage, 64))
	fatal.If(t, err)
	text := pageOf(t, r, 80)
	for line := range strings.Lines(text) {
		if n := cells(strings.TrimRight(line, "\n")); n > 80 || strings.ContainsRune(line, '\x1b') {
			t.Errorf("a line of %d cells: %q", n, line)
		}
	}
	wantIn(t, text,
		"64 ranks of 64, job a-job-with-a-long-name",
		"  X Rank 7 on node1 cannot be asked: process 4194007 does not answer.",
		"  ! Rank 3 on node1 holds 1.0 GiB more at its peak than the median",
		"\n   3 123456 1023.0 MiB    2.0 GiB    2.0 GiB   +1.0 GiB   79.0 GiB  4194003",
		"\n   7  4194007 node1: process 4194007 does not answer\n",
		"memtop attach node1:4194003 --once says what it holds.",
	)
}

func TestRanksAsJSONLeaveNoneOut(t *testing.T) {
	rows := sixtyFour()[:8]
	each := make([]json.RawMessage, 8)
	for i := range each {
		if i != 7 {
			each[i] = json.RawMessage(`{"schema":"memtop.live/1"}`)
		}
	}
	r, err := NewRanks(rows, each)
	fatal.If(t, err)
	text, err := json.Marshal(r)
	fatal.If(t, err)
	var back struct {
		Schema string
		Ranks  []struct {
			Rank    *int
			PID     int
			Problem string
		}
		Findings []struct {
			Kind  string
			Bytes int64
			Ranks []int
		}
	}
	fatal.If(t, json.Unmarshal(text, &back))
	lost := back.Ranks[7]
	if back.Schema != "memtop.ranks/1" || len(back.Ranks) != 8 || lost.Rank == nil || *lost.Rank != 7 || lost.PID != 4194007 || lost.Problem == "" {
		t.Errorf("got %s", text)
	}
	if len(back.Findings) != 3 || back.Findings[1].Kind != "uneven_memory" || back.Findings[1].Ranks[0] != 3 || back.Findings[1].Bytes != 1026<<20 {
		t.Errorf("findings %+v", back.Findings)
	}
}

func TestASentenceNamesAFewRanksThatBrokeALimit(t *testing.T) {
	g := NewRankGates()
	for i := range 5 {
		row := ranks.Row{Rank: trace.Rank{Rank: i}, Name: "x"}
		g.Add(&row, &Gate{Devices: []GateDevice{{Peak: &GatePeak{MeasuredPeak: MeasuredPeak{RequestedBytes: 2}, LimitBytes: 1, Exceeded: true}}}})
	}
	want := "rank 0: the peak of device 0, 2 B, is more than 1 B; rank 1: the peak of device 0, 2 B, is more than 1 B; " +
		"rank 2: the peak of device 0, 2 B, is more than 1 B; and 2 more ranks"
	if got := g.Broken(); got != want || g.OK {
		t.Errorf("got %q", got)
	}
}
