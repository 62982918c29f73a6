package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
)

const gib = 1 << 30

// rehearsedTrace is of a program that asks for more than there is.
const rehearsedTrace = `memtop-trace 1
frame model "gpt.py" 16 "forward"
frame train "train.py" 7 "<module>"
stack forward model train
stack weights train
device 0
segment_alloc 0x100000000 2147483648 @1 stack=weights
alloc 0x100000000 2147483648 @2 stack=weights
segment_alloc 0x200000000 1073741824 @3 stack=forward
alloc 0x200000000 1073741824 @4 stack=forward
oom 1073741824 4294967296 @5 stack=forward
`

// reportOfRehearsal returns the report of that trace.
func reportOfRehearsal(t *testing.T) *Report {
	t.Helper()
	read := tracetest.Parse(t, rehearsedTrace)
	return New(read)
}

// keeping returns the report of a program that keeps a mebibyte of each step.
func keeping(t *testing.T) *Report {
	t.Helper()
	return New(tracetest.Parse(t, tracetest.Steps(8, func(s int) string {
		return fmt.Sprintf("alloc 0x%[2]x 1048576 @%[1]d100 stack=main\nalloc 0x100 4096 @%[1]d200 stack=act\nfree_completed 0x100 4096 @%[1]d300\n", s, (s+1)<<24)
	})))
}

// rehearsalOn returns what a rehearsal found on a GPU with so much memory.
func rehearsalOn(total int64) *Rehearsal {
	return &Rehearsal{
		Schema: RehearsalSchema, Command: []string{"python", "train.py"}, PyTorch: "2.15.0", CUDA: "13.2", Seconds: 1.5, Fits: true, Exact: true,
		Because: []string{}, Ranks: []RehearsedOn{}, FitsOn: []string{}, NotImitated: []NotImitated{}, DependsOnData: []DependsOnData{}, Ended: "settled",
		GPU: RehearsedGPU{Name: "A", Title: "NVIDIA A", Total: total, Context: gib / 2},
	}
}

func textOf(t *testing.T, r *Rehearsal, width int) string {
	t.Helper()
	text := pageOf(t, r, width)
	for line := range strings.Lines(text) {
		if cells(strings.TrimRight(line, "\n")) > width {
			t.Errorf("wider than %d: %q", width, line)
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

func TestARehearsalSaysWhetherItFits(t *testing.T) {
	on := RehearsedOn{Steps: 5, PeakAllocated: 3 * gib, PeakReserved: 3 * gib, DeviceBytes: 7 * gib / 2}
	of := reportOfRehearsal(t)
	for name, test := range map[string]struct {
		make func() *Rehearsal
		want []string
		not  []string
	}{
		"it fits": {
			func() *Rehearsal {
				r := rehearsalOn(8 * gib)
				r.Add(on, of, false)
				r.FitsOn = []string{"a", "b", "c", "d", "e", "f", "g", "h"}
				r.Conclude()
				return r
			},
			[]string{"It fits on an imitated NVIDIA A of 8.0 GiB in the first 5 steps, with 4.5 GiB left.", "Not run: what follows 5 steps", "5 steps; ended here, for the peak stays", "peak allocated 3.0 GiB", "CUDA's context 512.0 MiB beside PyTorch, with loaded kernels; modelled on the device 3.5 GiB at most", "a, b, c, d, e, f, and 2 larger", "gpt.py:16 forward", "Exact:"},
			[]string{"rank"},
		},
		"memory grows": {
			func() *Rehearsal {
				r := rehearsalOn(8 * gib)
				r.Add(on, keeping(t), false)
				return r
			},
			[]string{"Memory from train.py:10 main grows by 1.0 MiB per step", "The GPU is full after about 4,608 steps more."},
			[]string{"The peak is"},
		},
		"libraries take some": {
			func() *Rehearsal {
				r := rehearsalOn(8 * gib)
				r.Add(RehearsedOn{PeakReserved: 3 * gib, DeviceBytes: 9 * gib / 2}, nil, false)
				return r
			},
			[]string{"libraries 1.0 GiB beside it too"},
			nil,
		},
		"it does not": {
			func() *Rehearsal {
				r := rehearsalOn(4 * gib)
				r.Ended = "exit"
				r.Add(on, of, true)
				r.Conclude()
				return r
			},
			[]string{"It does not fit on an imitated NVIDIA A of 4.0 GiB: 4.0 GiB were asked for, 3.0 GiB more than there were.", "Out of memory at event", "held by 2.0 GiB train.py:7"},
			[]string{"ran to its end"},
		},
		"it does not fit, and catches that": {
			func() *Rehearsal {
				r := rehearsalOn(4 * gib)
				r.Ended, r.ExitCode = "exit", 0
				r.Add(RehearsedOn{PeakReserved: 3 * gib, DeviceBytes: 9 * gib / 2}, of, true)
				r.Conclude()
				return r
			},
			[]string{"It does not fit", "The program caught that (--caught fits counts it as fitting)."},
			[]string{"Not run"},
		},
		"it fits at last": {
			func() *Rehearsal {
				r := rehearsalOn(8 * gib)
				r.Ended = "exit"
				r.Add(RehearsedOn{Caught: &Caught{Times: 2, Asked: 7 * gib}, DeviceBytes: gib}, nil, false)
				r.Conclude()
				return r
			},
			[]string{"It fits on an imitated NVIDIA A of 8.0 GiB, with 7.0 GiB left. It ran out of memory 2 times before and caught that, last when it asked for 7.0 GiB."},
			[]string{"Not run", "in the first", "That is close"},
		},
		"it fits as long as CUDA takes no more than most": {
			func() *Rehearsal {
				r := rehearsalOn(8 * gib)
				r.Add(RehearsedOn{DeviceBytes: 8*gib - 100<<20}, nil, false)
				r.Conclude()
				return r
			},
			[]string{"with 100.0 MiB left. That is close: beside PyTorch CUDA may take 160.0 MiB more than is counted."},
			nil,
		},
		"it fits as long as none of two processes takes more": {
			func() *Rehearsal {
				r := rehearsalOn(8 * gib)
				r.Add(RehearsedOn{DeviceBytes: 4 * gib, Together: 8*gib - 300<<20, Processes: 2}, nil, false)
				r.Conclude()
				return r
			},
			[]string{"with 300.0 MiB left. That is close: beside PyTorch CUDA may take 320.0 MiB more than is counted."},
			nil,
		},
		"it used no device": {
			func() *Rehearsal { return rehearsalOn(4 * gib) }, []string{"It used no device of an imitated NVIDIA A"}, []string{"Exact"},
		},
		"it waits, and reads": {
			func() *Rehearsal {
				r := rehearsalOn(8 * gib)
				r.Ended = "waits"
				r.Add(on, of, false)
				r.Because = []string{"cuDNN: a formula"}
				r.DependsOnData = []DependsOnData{{Line: "a.py:1", What: "if x.any():", Count: 3}, {Line: "a.py:1", What: "if x.any():", Count: 4}}
				r.NotImitated = []NotImitated{{"cufftPlan", "libtorch.so", 2}}
				r.Conclude()
				return r
			},
			[]string{"As far as it ran it fits", "waits for a value", "not exact: cuDNN: a formula", "read in 1 line and not computed a.py:1 7x if x.any():", "not imitated: cufftPlan, called 2 times by libtorch.so"},
			[]string{"Exact:"},
		},
	} {
		for _, width := range []int{80, 200} {
			t.Run(name, func(t *testing.T) {
				text := textOf(t, test.make(), width)
				wantIn(t, text, test.want...)
				for _, not := range test.not {
					if strings.Contains(text, not) {
						t.Errorf("it has %q:\n%s", not, text)
					}
				}
			})
		}
	}
}

// with returns a rehearsal with such peaks.
func with(allocated, reserved int64) *Rehearsal {
	r := rehearsalOn(4 * gib)
	r.Add(RehearsedOn{PeakAllocated: allocated, PeakReserved: reserved, DeviceBytes: reserved + gib/2}, nil, false)
	return r
}

// TestARehearsalSaysWhatWouldFit has three changes: one that fits, one that saves too little
// and one that the program cannot have.
func TestARehearsalSaysWhatWouldFit(t *testing.T) {
	r, whole := rehearsalOn(4*gib), with(6*gib, 6*gib)
	r.Add(RehearsedOn{PeakAllocated: 2 * gib, PeakReserved: 2 * gib, DeviceBytes: 5 * gib / 2}, reportOfRehearsal(t), true)
	r.Need(whole, []string{"b"})
	r.Tried("less", with(4*gib, 4*gib), whole)
	r.Refused("other", "it has none")
	r.Tried("least", with(3*gib, 3*gib), whole)
	oom := r.Ranks[0].OOM
	if *oom.Needs != 13*gib/2 || len(r.FitsOn) != 1 || len(r.Ranks[0].Tried) != 3 {
		t.Errorf("needs %d, on %v, tried %+v", *oom.Needs, r.FitsOn, r.Ranks[0].Tried)
	}
	if len(oom.WouldFit) != 1 || oom.WouldFit[0] != (WouldFit{"least", 3 * gib, "rehearsed"}) {
		t.Errorf("would fit: %+v", oom.WouldFit)
	}
	text := textOf(t, r, 80)
	wantIn(t, text,
		"It needs 6.5 GiB.", "fits with least: 3.5 GiB on the device, 512.0 MiB left",
		"not with less: 4.5 GiB on the device, 512.0 MiB too much other: it has none held by",
	)
}

// TestARehearsalThatFitsSaysWhatChangesTake has four changes, one of which the program cannot have.
func TestARehearsalThatFitsSaysWhatChangesTake(t *testing.T) {
	r := rehearsalOn(8 * gib)
	r.Add(RehearsedOn{PeakAllocated: 3 * gib, PeakReserved: 3 * gib, DeviceBytes: 7 * gib / 2}, reportOfRehearsal(t), false)
	for change, its := range map[string]*Rehearsal{"less": with(2*gib, 5*gib/2), "idle": with(3*gib, 3*gib), "worse": with(2*gib, 4*gib)} {
		r.Tried(change, its, r)
	}
	r.Refused("other", "it has none")
	wantIn(t, textOf(t, r, 80), "with less: peak allocated 2.0 GiB, 1.0 GiB less; on the device 512.0 MiB less", "with idle: peak allocated 3.0 GiB, no less; on the device no less",
		"with worse: peak allocated 2.0 GiB, 1.0 GiB less; on the device 1.0 GiB more", "not other: it has none")
}

func TestRanksOfRehearsalsAreJoined(t *testing.T) {
	first, second := rehearsalOn(8*gib), rehearsalOn(8*gib)
	first.Add(RehearsedOn{Rank: 0, DeviceBytes: gib}, nil, false)
	second.Add(RehearsedOn{Rank: 63, DeviceBytes: 2 * gib}, nil, false)
	first.FitsOn, second.FitsOn = []string{"a", "b"}, []string{"b", "c"}
	for _, r := range []*Rehearsal{first, second} {
		r.DependsOnData = []DependsOnData{{Line: "a.py:1", Count: 1}}
		r.Conclude()
	}
	var none *Rehearsal
	joined := none.Join(first).Join(second)
	if most := joined.Most(); most == nil || most.Rank != 63 || len(joined.Ranks) != 2 || joined.Seconds != 3 {
		t.Errorf("joined: %+v", joined)
	}
	if len(joined.FitsOn) != 1 || joined.FitsOn[0] != "b" || len(joined.Because) != 1 || len(joined.DependsOnData) != 1 || joined.DependsOnData[0].Count != 2 {
		t.Errorf("joined: %v %q %+v", joined.FitsOn, joined.Because, joined.DependsOnData)
	}
	text, err := json.Marshal(joined)
	if err != nil || strings.Contains(string(text), "null,") && !strings.Contains(string(text), `"oom":null`) {
		t.Errorf("%s, %v", text, err)
	}
}

// varied has three runs of a program that takes so much more for each value.
func varied(t *testing.T) *Vary {
	t.Helper()
	v := &Vary{Name: "batch", Title: "GPU"}
	for _, value := range []int64{1, 64, 20} {
		v.Add(VaryRun{
			Value: value, Fits: value < 64, Whole: true, PeakAllocated: gib + value*100<<20, PeakReserved: gib + value*110<<20, DeviceBytes: 3*gib/2 + value*110<<20,
			lines: []Line{{"gpt.py", 16, "forward", value * 100 << 20, 1}, {"train.py", 7, "<module>", gib, 1}},
		})
	}
	return v
}

func TestLinesGrowByLaws(t *testing.T) {
	v := varied(t)
	largest := int64(20)
	v.Largest = &largest
	v.Conclude()
	if len(v.Laws) != 2 || v.Laws[0].Law != "linear" || v.Laws[0].PerUnit != 100<<20 || v.Laws[1].Law != "constant" {
		t.Errorf("the laws are %+v", v.Laws)
	}
	var values []int64
	for n := range int64(64) {
		values = append(values, n+1)
	}
	if low, high := v.Guess(values, 4*gib); low != 23 || high != 25 {
		t.Errorf("between %d and %d fit 4 GiB, want 23 and 25", low, high)
	}
	b := pageOf(t, v, 80)
	text := strings.Join(strings.Fields(b), " ")
	wantIn(t, text, "The largest batch that fits on an imitated GPU is 20, found in 3 runs.", "linear 100.0 MiB gpt.py:16 forward")
}

func TestARunWithTheGPUsMemorySaysWhetherAValueFits(t *testing.T) {
	v := varied(t)
	v.Add(VaryRun{Value: 64, Fits: true, PeakAllocated: 1, AskedBy: "x"})
	if len(v.Runs) != 3 || !v.Fits(64) || v.Runs[1].PeakAllocated == 1 {
		t.Errorf("the runs are %+v", v.Runs)
	}
	v.Note(64, false)
	if v.Fits(64) || v.Fits(63) {
		t.Errorf("the runs are %+v", v.Runs)
	}
}

// TestOfRanksThatEndOtherwiseNothingIsSaidToBeLeftOut joins a rank that ended early with one that failed.
func TestOfRanksThatEndOtherwiseNothingIsSaidToBeLeftOut(t *testing.T) {
	first, second := rehearsalOn(4*gib), rehearsalOn(4*gib)
	first.Add(RehearsedOn{Steps: 4, DeviceBytes: gib}, nil, false)
	first.Conclude()
	second.Ended, second.ExitCode = "", 1
	if first.NotRun != "what follows 4 steps" {
		t.Fatalf("of one rank it is %q", first.NotRun)
	}
	if joined := first.Join(second); joined.NotRun != "" {
		t.Errorf("of both it is %q", joined.NotRun)
	}
}
