package analysis

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// indexOf reads a trace in the text form and indexes its first device.
func indexOf(tb testing.TB, text string) *Index {
	tb.Helper()
	t := tracetest.Parse(tb, text)
	return NewIndex(t, &t.Devices[0])
}

func TestCategoryIsThatOfTheInnermostFrameThatARuleKnows(t *testing.T) {
	tests := map[string]struct {
		frames   string
		category trace.Category
		rule     string
	}{
		"what one layer's call leaves may be its result":             {"malloc layer call user", trace.Inference, "forward without a graph, there to the end"},
		"the autograd engine makes temporaries at first":             {"malloc node engine", trace.BackwardTemporary, "made in backward, in which the recording ends"},
		"a layer run again in backward makes activations":            {"malloc layer call check engine", trace.Activation, "forward run again in backward"},
		"optimizer code makes state":                                 {"malloc adam wrap user", trace.Optimizer, "optimizer begins its state"},
		"the wrapper around a step is not the optimizer":             {"malloc layer call wrap user", trace.Inference, "forward without a graph, there to the end"},
		"the data loader makes inputs":                               {"malloc load user", trace.Input, "data loading"},
		"a module's constructor makes parameters":                    {"malloc linear own user", trace.Parameter, "module built or loaded"},
		"a constructor of the program's own makes parameters":        {"malloc own user", trace.Parameter, "made by a constructor"},
		"a library's workspace is one even inside a layer":           {"malloc blas layer call user", trace.Workspace, "library workspace"},
		"a copy outside of everything is not known":                  {"malloc copy user", trace.OtherCategory, "no rule matched"},
		"a copy inside a layer is not":                               {"malloc copy layer call user", trace.Inference, "forward without a graph, there to the end"},
		"an operation without a call of a model is not known":        {"malloc loss user", trace.OtherCategory, "no rule matched"},
		"what no rule knows is other":                                {"malloc user", trace.OtherCategory, "no rule matched"},
		"a stack of nothing but the allocator's frames says nothing": {"malloc", trace.OtherCategory, "no rule matched"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			x := indexOf(t, tracetest.Frames+"stack s "+test.frames+`
device 0
alloc 0x1000 512 stack=s
alloc 0x2000 512 stack=main
`)
			category, rule := x.Category(x.Lifetimes().Allocation(0))
			if category != test.category || rule.String() != test.rule || rule.Exact {
				t.Errorf("got %s by %+v, want %s by %q", category, rule, test.category, test.rule)
			}
			if !x.Guessed() {
				t.Error("the categories are guesses, but are not marked as such")
			}
		})
	}
}

func TestCategoryThatTheWriterNotedIsExact(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
note weights category="parameter"
device 0
alloc 0x1000 512 stack=act note=weights
`)
	category, rule := x.Category(x.Lifetimes().Allocation(0))
	if category != trace.Parameter || !rule.Exact || x.Guessed() {
		t.Errorf("got %s, rule %+v, guessed %v; want parameter, exact", category, rule, x.Guessed())
	}
}

func TestCategoriesAreExactWhereNoneIsGuessed(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
note weights category="parameter"
device 0
alloc 0x1000 512 note=weights
alloc 0x2000 512 stack=main
alloc 0x3000 512 stack=act
`)
	for event, want := range []bool{false, false, true} { // memory of no known category is no guess
		if got := x.GuessedAt(event); got != want {
			t.Errorf("after event %d: guessed is %v, want %v", event, got, want)
		}
	}
	if !x.Guessed() {
		t.Error("one category is a guess, and none is said to be")
	}
}

func TestMemoryFreedButNeverAllocatedHasNoKnownStack(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
device 0
free_requested 0x1000 4096 stack=act
free_completed 0x1000 4096 stack=act
alloc 0x1000 512 stack=act
`)
	holders := x.HoldersAt(-1)
	if len(holders) != 1 || holders[0].Stack != 0 || holders[0].Bytes != 4096 || x.HolderName(holders[0]) != HeldBefore {
		t.Errorf("before the first event: got %+v, want 4096 bytes held by nobody known", holders)
	}
	line := x.Timeline(0, 3, 3)
	if held := line.Bands[heldBand]; !held.Held || line.Columns[0].Bands[heldBand] != 4096 {
		t.Errorf("band %+v holds %d, want 4096 held from before", held, line.Columns[0].Bands[heldBand])
	}
}

func TestStacksAreNamedByTheProgramsOwnLine(t *testing.T) {
	x := indexOf(t, tracetest.Frames+`
frame sdpa "/env/site-packages/torch/nn/functional.py" 5 "scaled_dot_product_attention"
stack deep malloc sdpa layer call user
device 0
alloc 0x1000 512 stack=deep
alloc 0x2000 512 stack=grad
alloc 0x3000 512
`)
	for i, want := range []string{"model.py:20 forward", "MulBackward0::apply", NoStack} {
		if got := x.StackName(x.Lifetimes().Allocation(trace.AllocationID(i)).Stack); got != want {
			t.Errorf("event %d: got %q, want %q", i, got, want)
		}
	}
	var told []string
	for _, frame := range x.Telling(x.Lifetimes().Allocation(0).Stack, 2) {
		told = append(told, x.ShortLabel(frame))
	}
	if got := strings.Join(told, " | "); got != "functional.py:5 scaled_dot_product_attention | model.py:20 forward" {
		t.Errorf("telling frames: got %q", got)
	}
}
