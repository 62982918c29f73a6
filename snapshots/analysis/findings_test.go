package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// said joins all findings.
func said(x *Index) string {
	var lines []string
	for _, f := range x.Findings() {
		lines = append(lines, f.Severity.String()+": "+f.Text())
	}
	return strings.Join(lines, "\n")
}

func TestMemoryThatGrowsEveryStepIsFound(t *testing.T) {
	leaking := indexOf(t, tracetest.Steps(8, func(s int) string {
		return fmt.Sprintf(`
alloc 0x%x 1048576 @%d stack=main
alloc 0x100 4096 @%d stack=act
free_requested 0x100 4096 @%d
free_completed 0x100 4096 @%d
`, (s+1)<<24, s*1000+100, s*1000+200, s*1000+300, s*1000+300)
	}))
	growth := leaking.Growth()
	if len(growth) != 1 || growth[0].PerStep != mib || !growth[0].Marked || leaking.StackName(growth[0].Stack) != "train.py:10 main" {
		t.Fatalf("got %+v, want 1 MiB per step from train.py", growth)
	}
	if got := said(leaking); !strings.Contains(got, "warning: Memory from train.py:10 main grows by 1.0 MiB per step, in each of the last 6 steps; it now holds 8.0 MiB.") {
		t.Errorf("findings:\n%s", got)
	}
	twice := indexOf(t, strings.Replace(tracetest.Steps(8, func(s int) string {
		return fmt.Sprintf("alloc 0x%x 1048576 @%d stack=main\nalloc 0x%x 2097152 @%[2]d stack=adds\n", (s+1)<<24, s*1000+100, (s+100)<<24)
	}), "device 0", "stack adds copy user\ndevice 0", 1))
	if got := said(twice); !strings.Contains(got, "Memory from train.py:10 main grows by 3.0 MiB per step, in each of the last 6 steps; it now holds 24.0 MiB.") {
		t.Errorf("two stacks of a line:\n%s", got)
	}
	// Another stack of the line holds more all the time than is given back in the end.
	freed := "alloc 0x900000000 1073741824 @9100 stack=adds\n"
	for s := range 8 {
		freed += fmt.Sprintf("free_requested 0x%x 1048576 @%[2]d\nfree_completed 0x%[1]x 1048576 @%[2]d\n", (s+1)<<24, 9200+s)
	}
	given := indexOf(t, strings.Replace(tracetest.Steps(8, func(s int) string {
		return fmt.Sprintf("alloc 0x%x 1048576 @%d stack=main\nalloc 0x100 4096 @%[2]d stack=act\nfree_completed 0x100 4096 @%[2]d\n", (s+1)<<24, s*1000+100)
	}), "device 0", "stack adds copy user\ndevice 0", 1)+freed)
	if got := said(given); !strings.Contains(got, "train.py:10 main grows by 1.0 MiB per step") || !strings.Contains(got, "and 0 B at the end") {
		t.Errorf("what grew is given back:\n%s", got)
	}
	results := indexOf(t, tracetest.Steps(8, func(s int) string {
		return fmt.Sprintf("alloc 0x%x 1048576 @%d stack=act\n", (s+1)<<24, s*1000+100)
	}))
	if got := said(results); !strings.Contains(got, "model.py:20 forward grows by 1.0 MiB per step") || strings.Contains(got, "previous step") {
		t.Errorf("results that a list keeps: findings:\n%s", got)
	}
	slow := indexOf(t, tracetest.Steps(8, func(s int) string {
		return fmt.Sprintf("alloc 0x%x 8192 @%d stack=main\n", (s+1)<<24, s*1000+100)
	}))
	if growth := slow.Growth(); len(growth) != 1 || growth[0].PerStep != 8192 {
		t.Errorf("got %+v, want 8 KiB per step", growth)
	}
	steady := indexOf(t, tracetest.Steps(8, func(s int) string {
		return fmt.Sprintf(`
alloc 0x1000000 1048576 @%d stack=main
free_requested 0x1000000 1048576 @%d
free_completed 0x1000000 1048576 @%d
`, s*1000+100, s*1000+300, s*1000+300)
	}))
	if growth := steady.Growth(); len(growth) != 0 {
		t.Errorf("memory that is freed in each step: got %+v, want no growth", growth)
	}
}

// TestGradientsThatHoldTheirGraphAreTold has gradients that stay, of backward passes that have a graph or not.
func TestGradientsThatHoldTheirGraphAreTold(t *testing.T) {
	for freed, want := range map[string]bool{"second": true, "first": false} {
		got := said(indexOf(t, strings.Replace(tracetest.Steps(8, func(s int) string {
			text := fmt.Sprintf(`
alloc 0x100 4096 @%[1]d100 stack=act
alloc 0x9000 512 @%[1]d200 stack=grad
alloc 0x%[2]x 1048576 @%[1]d300 stack=keeps
FIRST
free_requested 0x100 4096 @%[1]d400 stack=grad
free_completed 0x100 4096 @%[1]d400 stack=grad
alloc 0x5000 512 @%[1]d450 stack=call
free_completed 0x5000 512 @%[1]d460 stack=call
alloc 0x7000 512 @%[1]d500 stack=grad
SECOND
alloc 0x8000 512 @%[1]d650 stack=grad
free_completed 0x7000 512 @%[1]d700 stack=grad
free_completed 0x8000 512 @%[1]d700 stack=grad
`, s, (s+1)<<24)
			for place, name := range map[string]string{"FIRST": "first", "SECOND": "second"} {
				free := ""
				if freed == name {
					free = fmt.Sprintf("free_requested 0x9000 512 @%[1]d600 stack=grad\nfree_completed 0x9000 512 @%[1]d600 stack=grad", s)
				}
				text = strings.Replace(text, place, free, 1)
			}
			return text
		}), "device 0", "frame gathers \"??\" 0 \"torch::autograd::AccumulateGrad::apply(int)\"\nstack keeps malloc gathers engine\nstack call malloc layer call user\ndevice 0", 1)))
		if !strings.Contains(got, "grows by 1.0 MiB per step") || strings.Contains(got, "create_graph") != want {
			t.Errorf("what a backward pass makes is freed in the %s:\n%s", freed, got)
		}
	}
}

// TestWhatCallsOfAModelAddGrows has a list that grows with each of a model's calls, or with each layer of one.
func TestWhatCallsOfAModelAddGrows(t *testing.T) {
	for name, between := range map[string]string{"calls": "alloc 0x300 512 stack=data\nfree_completed 0x300 512\n", "layers": ""} {
		var text strings.Builder
		text.WriteString(tracetest.Frames + "device 0\n")
		for i := range 40 {
			fmt.Fprintf(&text, "%salloc 0x%x 1048576 stack=act\nalloc 0x100 4096 stack=act\nfree_completed 0x100 4096\n", between, (i+1)<<24)
		}
		growth := indexOf(t, text.String()).Growth()
		if got := len(growth) == 1 && growth[0].Calls && !growth[0].Marked; got != (name == "calls") || !got && len(growth) > 0 {
			t.Errorf("%s: got %+v", name, growth)
		}
	}
}

// TestResultsThatAreKeptAreNoGraph has an evaluation without marked steps that keeps its results for a while.
func TestResultsThatAreKeptAreNoGraph(t *testing.T) {
	evaluation := pytorchtest.PinnedEvaluation()
	got := said(NewIndex(evaluation, &evaluation.Devices[0]))
	for _, word := range []string{"per step", "Autograd", "results of the step before"} {
		if strings.Contains(got, word) {
			t.Errorf("%q is said:\n%s", word, got)
		}
	}
}

func TestStepsAreTheStretchesBetweenOptimizerSteps(t *testing.T) {
	x := indexOf(t, tracetest.Steps(3, func(s int) string {
		return fmt.Sprintf("alloc 0x%x 512 @%d stack=act\nalloc 0x%x 512 @%d stack=opt\n", s*8192+4096, s*1000+100, s*8192+8192, s*1000+920)
	}))
	want := "[{step 1 0 2 0} {step 2 2 4 0} {step 3 4 6 0}]"
	if got := fmt.Sprint(x.Steps()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	marks := x.Marks()
	if len(marks) != 3 || marks[1].From != 3 || marks[1].To != 4 || marks[1].OpenStart || marks[1].OpenEnd {
		t.Errorf("marks: got %+v", marks)
	}
}

func TestStepsThatEndedBeforeTheFirstEventAreLeftOut(t *testing.T) {
	x := indexOf(t, tracetest.Steps(3, func(s int) string {
		if s == 0 {
			return ""
		}
		return fmt.Sprintf("alloc 0x%x 512 @%d stack=act\nalloc 0x%x 512 @%d stack=opt\n", s*8192+4096, s*1000+100, s*8192+8192, s*1000+920)
	}))
	if got, want := fmt.Sprint(x.Steps()), "[{step 2 0 2 0} {step 3 2 4 0}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMarksWithoutTheirOtherEndStayOpen(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
annotation "load" "END" device=0 @100
annotation "step" "START" device=0 @150
annotation "inner" "START" device=0 @160
annotation "inner" "END" device=0 @260
annotation "other device" "START" device=1 @160
device 0
alloc 0x1000 512 @90 stack=act
alloc 0x2000 512 @155 stack=act
alloc 0x3000 512 @200 stack=act
alloc 0x4000 512 @300 stack=act
`)
	var got []string
	for _, m := range x.Marks() {
		got = append(got, fmt.Sprintf("%s [%d,%d) depth %d open %v %v", m.Name, m.From, m.To, m.Depth, m.OpenStart, m.OpenEnd))
	}
	want := []string{
		"load [0,1) depth 0 open true false",
		"step [1,4) depth 0 open false true",
		"inner [2,3) depth 1 open false false",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOverflowIsRecognised(t *testing.T) {
	const events = `
alloc 0x1000 512 stack=act
alloc 0x2000 512 stack=act
`
	tests := map[string]struct {
		text string
		lost Certainty
	}{
		"nothing was lost":                 {"device 0" + events, No},
		"the device says so":               {"device 0 overflowed" + events, Certain},
		"the trace is as long as its ring": {"device 0 max=2" + events, Certain},
		"the ring is not full":             {"device 0 max=100" + events, No},
		"a block with a stack that no event allocated": {"device 0" + events + `
segment 0x100000 2097152 type="small"
block 0x100000 512 active_allocated requested=512 stack=act
block 0x100200 2096640 inactive
`, Possible},
		"a block without a stack is only older": {"device 0" + events + `
segment 0x100000 2097152 type="small"
block 0x100000 512 active_allocated requested=512
block 0x100200 2096640 inactive
`, No},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := indexOf(t, tracetest.Frames+test.text)
			o := x.Overflow()
			if o.Lost != test.lost {
				t.Errorf("got %+v, want %d", o, test.lost)
			}
			words := [...]string{Probable: "probably lost", Certain: "start of the history is lost"}
			for lost, word := range words {
				if said := strings.Contains(said(x), word); word != "" && said != (Certainty(lost) == test.lost) {
					t.Errorf("%q is said: %v", word, said)
				}
			}
		})
	}
}

func TestAFullRoundTraceHasProbablyOverflowed(t *testing.T) {
	text := tracetest.Frames + "device 0\n" + strings.Repeat("alloc 0x1000 512 stack=act\nfree_completed 0x1000 512\n", 512) + `
segment 0x100000 2097152 type="small"
block 0x100000 512 active_allocated requested=512 stack=act
block 0x100200 2096640 inactive
`
	if o := indexOf(t, text).Overflow(); o.Lost != Probable {
		t.Errorf("1024 events and a block with a stack from before: got %+v, want probable", o)
	}
}

// unmarked writes a trace without steps, in which every round leaves something
// behind and uses so much meanwhile.
func unmarked(rounds int, swing int64) string {
	var b strings.Builder
	b.WriteString(tracetest.Frames + "device 0\n")
	for s := range rounds {
		fmt.Fprintf(&b, "alloc 0x%x 1048576 stack=main\nalloc 0x100 %d stack=act\nfree_requested 0x100 %[2]d\nfree_completed 0x100 %[2]d\n",
			(s+1)<<24, swing)
	}
	return b.String()
}

func TestWithoutStepsOnlyWhatGoesUpAndDownIsCompared(t *testing.T) {
	if growth := indexOf(t, unmarked(400, 1<<30)).Growth(); len(growth) != 1 || growth[0].Marked || growth[0].PerStep < 49*mib {
		t.Errorf("a loop that leaks: got %+v, want some 50 MiB from part to part", growth)
	}
	if growth := indexOf(t, unmarked(400, 1<<20)).Growth(); len(growth) != 0 {
		t.Errorf("a program that builds up memory: got %+v, want nothing", growth)
	}
}

func TestARoundNumberOfEventsLooksLikeALimit(t *testing.T) {
	for n, want := range map[int]bool{100_000: true, 1_000_000: true, 65_536: true, 250_000: true, 22_332: false, 999: false, 123_000: false} {
		if got := isRound(n); got != want {
			t.Errorf("%d: got %v, want %v", n, got, want)
		}
	}
}

func TestFindingsSayWhatAFileIsNot(t *testing.T) {
	const block = `
segment 0x100000 2097152 type="small"
block 0x100000 1048576 active_allocated requested=1048576 %s
block 0x200000 1048576 inactive
`
	tests := map[string]struct{ text, want string }{
		"tags without events":  {"note tagged layer=\"fc\" role=\"weight\" category=\"parameter\"\ndevice 0" + fmt.Sprintf(block, "stack=act note=tagged"), "MEMTOP_HISTORY=1"},
		"no events":            {"device 0" + fmt.Sprintf(block, "stack=act"), "The file has no history"},
		"one event":            {"device 0\nfree_completed 0x1000 512\n" + fmt.Sprintf(block, "stack=act"), "a single entry, which is not a history"},
		"no stacks":            {"device 0\nalloc 0x180000 512\nfree_completed 0x180000 512\n" + fmt.Sprintf(block, ""), "No stacks were recorded"},
		"no stacks either":     {"device 0" + fmt.Sprintf(block, ""), "It has no stacks either"},
		"held before":          {"device 0\nalloc 0x180000 512 stack=act\nfree_completed 0x100000 1048576 stack=main\n", "older than the recording, and its use is unknown"},
		"state without events": {"device 0\nalloc 0x1000 1024 stack=act\nalloc 0x2000 512 stack=act\n", "do not fit together"},
		"a pending free": {
			"device 0" + strings.Replace(fmt.Sprintf(block, "stack=act"), "active_allocated", "active_pending_free", 1),
			"freed by the program but is still in use by another stream",
		},
		"a private pool": {
			"device 0" + strings.Replace(fmt.Sprintf(block, "stack=act"), `type="small"`, `type="small" pool=0,1`, 1),
			"reserved by 1 private pool (CUDA graphs or MemPool), 1.0 MiB of it unused now; other code cannot use it.",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := said(indexOf(t, tracetest.Frames+test.text)); !strings.Contains(got, test.want) {
				t.Errorf("findings:\n%s\nwant one with %q", got, test.want)
			}
		})
	}
}

// TestAPoolIsNamedWhereItIsUnused has a pool of a graph, or of a server's graphs, with
// some of it in use.
func TestAPoolIsNamedWhereItIsUnused(t *testing.T) {
	const server = "frame serve \"/env/site-packages/vllm/worker.py\" 5 \"run\"\nstack serve serve\n"
	for name, test := range map[string]struct {
		before, pool string
		used         int
		want         string // of the remedy, "" for no finding
	}{
		"half of two is unused":    {"", "pool=0,1", 10 << 20, "can share a pool"},
		"half, and it serves":      {server, "pool=0,1", 10 << 20, "cudagraph_capture_sizes"},
		"a twentieth is unused":    {"", "pool=0,1", 19 << 20, ""},
		"it is no pool of its own": {"", "", 10 << 20, ""},
	} {
		text := fmt.Sprintf("%sdevice 0\nsegment 0x10000000 20971520 type=\"large\" %s\nblock 0x10000000 %[3]d active_allocated requested=%[3]d\nblock 0x%x %d inactive\n",
			test.before, test.pool, test.used, 0x10000000+test.used, 20<<20-test.used)
		if test.pool != "" {
			text += "segment 0x20000000 2097152 pool=0,2\nblock 0x20000000 2097152 active_allocated requested=2097152\n"
		}
		remedy := ""
		for _, f := range indexOf(t, text).allFindings() {
			if f.Kind == PrivatePoolFinding {
				remedy = f.Remedy
				if f.Saving != 0 {
					t.Errorf("%s: it saves %d", name, f.Saving)
				}
			}
		}
		if test.want == "" && remedy != "" || !strings.Contains(remedy, test.want) {
			t.Errorf("%s: got %q", name, remedy)
		}
	}
}

// TestThatStacksAreMissingIsSaidOnce has memory from before recording that nobody
// knows, memory that grows, and a request that fails. With stacks only what the first is
// for is not known.
func TestThatStacksAreMissingIsSaidOnce(t *testing.T) {
	text := func(stack string) string {
		return tracetest.Steps(8, func(s int) string {
			held := ""
			if s == 0 {
				held = "free_completed 0x800 67108864" + stack + "\n"
			}
			return held + fmt.Sprintf("alloc 0x%x 8388608 @%d%s\n", (s+1)<<24, s*1000+100, stack)
		}) + "oom 0 1073741824" + stack + "\n"
	}
	for stack, want := range map[string]int{"": 1, " stack=main": 1} {
		x, about := indexOf(t, text(stack)), 0
		found := x.allFindings()
		for _, f := range found {
			if evidence := strings.ToLower(f.Evidence); strings.Contains(evidence, "stack") || strings.Contains(evidence, "is unknown") {
				about++
			}
		}
		if about != want || len(found) < 3 {
			t.Errorf("with %q: %d findings are about stacks, want %d of %+v", stack, about, want, found)
		}
	}
}

// TestStreamsBeginWithWhatIsHeld reads a trace whose writer gave its base, as a
// running program does: what is held from before is known.
func TestStreamsBeginWithWhatIsHeld(t *testing.T) {
	tr := tracetest.Parse(t, tracetest.Frames+`
device 0
alloc 0x180000 512 stack=act
free_completed 0x180000 512
segment 0x100000 2097152 type="small"
block 0x100000 1048576 active_allocated requested=1048576 stack=act
block 0x200000 1048576 inactive
`)
	d := &tr.Devices[0]
	base, _ := trace.Rewind(tr, d)
	for _, want := range []Certainty{Possible, No} {
		if got := NewIndex(tr, d).Overflow().Lost; got != want {
			t.Errorf("the beginning is lost: %s, want %s", got, want)
		}
		d.Base = &base
	}
	d.Overflowed = true
	if text := said(NewIndex(tr, d)); !strings.Contains(text, "too much to keep") {
		t.Errorf("of a stream whose beginning was forgotten:\n%s", text)
	}
}

func TestFindingsAreFewAndThoseThatSaveMostComeFirst(t *testing.T) {
	f := &finder{}
	x := indexOf(t, tracetest.Frames+"device 0\nalloc 0x1000 512 stack=act\nfree 0x1000 512 stack=act\n")
	found := x.Findings()
	if len(found) == 0 || found[len(found)-1].Kind != PeakFinding {
		t.Errorf("got %+v, want the peak last", found)
	}
	f.found = []Finding{
		{Kind: PeakFinding},
		{Kind: GrowthFinding, Saving: 5},
		{Kind: LeakFinding, Saving: 7},
		{Kind: PendingFreeFinding, Severity: Warning, Saving: 1},
		{Kind: ShortageFinding, Severity: Problem},
		{Kind: HeldBeforeFinding},
		{Kind: FlushFinding, Saving: 6},
	}
	var got []string
	for _, finding := range shown(f.ordered()) {
		got = append(got, finding.Kind.Name)
	}
	if want := "out_of_memory pending_free leak driver_refused growth"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestAHistoryIsOfMemory(t *testing.T) {
	for events, want := range map[string]bool{
		"snapshot 0x0 0\nsnapshot 0x0 0\n":                            false,
		"segment_alloc 0x1000 2097152\nsegment_free 0x1000 2097152\n": true,
	} {
		if got := indexOf(t, "device 0\n"+events).History(); got != want {
			t.Errorf("got %v of %q", got, events)
		}
	}
}

func TestAdviceNamesArgumentsThatTheReleaseHas(t *testing.T) {
	const first, later = "_record_memory_history(True, trace_alloc_max_entries=1000000, trace_alloc_record_context=True)", "_record_memory_history(max_entries=1000000)"
	for writer, want := range map[string]string{
		"PyTorch 1.13": "take PyTorch 2.1 or later, and call torch.cuda.memory." + later, "PyTorch 2.0": first,
		"PyTorch 2.1": first, "PyTorch 2.1 or later": first, "PyTorch 2.2": later, "PyTorch 2.10–2.11": later, "PyTorch 2.12–2.13": later, "": later,
	} {
		held := fmt.Sprintf("info writer=%q\n%sdevice 0", writer, tracetest.Frames) +
			" max=1\nsegment 0x100000 2097152 type=\"small\"\nblock 0x100000 512 active_allocated requested=512\nblock 0x100200 2096640 inactive\n"
		if got := said(indexOf(t, held)); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want it to have %s", writer, got, want)
		}
	}
}

// TestKeepersAreTold has a tensor in each of eight parts of the time, of notes that say what keeps it.
func TestKeepersAreTold(t *testing.T) {
	for keeper, want := range map[string]string{
		"":                                  "",
		"x, kept by history[…], train.py:7": "8.0 MiB of the peak, 8 tensors, is kept by history[…], train.py:7, and grows; take out what is no longer needed",
		"kept by views in history[…], train.py:7":     "and grows; a clone() of the part that is needed frees the rest",
		"kept by state with its graph, train.py:7":    "and grows; detach() what is carried on",
		"kept by the context of Swish, train.py:7":    "and grows; ctx.save_for_backward()",
		"weight, kept by a reference cycle":           "and grows; a weak reference in place of one in the cycle",
		"kept by parameters that no optimizer has, A": "and grows; torch.no_grad() where these are used",
	} {
		got := said(indexOf(t, strings.Replace(tracetest.Steps(8, func(s int) string {
			return fmt.Sprintf("alloc 0x%x 1048576 @%d100 stack=main note=kept\nalloc 0x100 4096 @%[2]d200 stack=act\nfree_completed 0x100 4096 @%[2]d300\n", (s+1)<<24, s)
		}), "device 0", fmt.Sprintf("note kept role=%q\ndevice 0", keeper), 1)))
		if has := strings.Contains(got, "of the peak, 8 tensors"); has != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%q: %s", keeper, got)
		}
	}
}

// TestWhatAListKeepsNeedsNoGraph has results of layers that stay, of which nothing but what keeps them says whether a
// graph does.
func TestWhatAListKeepsNeedsNoGraph(t *testing.T) {
	for keeper, want := range map[string]bool{"": true, "kept by made[…] with its graph, train.py:7": true, "kept by made[…], train.py:7": false} {
		var text strings.Builder
		fmt.Fprintf(&text, "%snote kept category=\"activation\" role=%q\ndevice 0\n", tracetest.Frames, keeper)
		for i := range 8 {
			fmt.Fprintf(&text, "alloc 0x%x 1048576 @%d100 stack=act note=kept\n", (i+1)<<24, i)
		}
		if got := said(indexOf(t, text.String())); strings.Contains(got, "autograd keeps 8.0 MiB") != want {
			t.Errorf("%q: %s", keeper, got)
		}
	}
}

// TestAKeeperIsToldBeforeAnyEvent is of a running program that a viewer has just come to: it has a state alone.
func TestAKeeperIsToldBeforeAnyEvent(t *testing.T) {
	text := tracetest.Frames + "note kept role=\"kept by history[…], train.py:7\"\ndevice 0\n" +
		"segment 0x1000000 20971520 type=\"large\"\nblock 0x1000000 20971520 active_allocated requested=20971520 note=kept\n"
	if got := said(indexOf(t, text)); !strings.Contains(got, "is kept by history[…], train.py:7") {
		t.Errorf("it says %s", got)
	}
}

// TestMemoryCachedForStreamsIsTold has a free segment of each of some streams, the first of which is the default one.
func TestMemoryCachedForStreamsIsTold(t *testing.T) {
	for streams, want := range map[int]bool{5: true, 4: false} {
		var text strings.Builder
		text.WriteString(tracetest.Frames + "device 0\n")
		for s := range streams {
			fmt.Fprintf(&text, "segment 0x%[1]x 20971520 stream=%[2]d type=\"large\"\nblock 0x%[1]x 20971520 inactive\n", (s+1)<<28, s*16)
		}
		if got := said(indexOf(t, text.String())); strings.Contains(got, "80.0 MiB is cached for 4 streams beside the default one") != want {
			t.Errorf("%d streams: %s", streams, got)
		}
	}
}
