package analysis

import (
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/cmd/testing/traintest"
)

// wasteNotes are the tensors of two layers.
const wasteNotes = `
frame model "model.py" 7 "build"
frame cast "amp.py" 9 "cast"
frame state "optim.py" 5 "state"
stack model model
stack cast cast
stack state state
note a category="parameter" layer="a" role="weight" shape="[4]" dtype="bfloat16"
note b category="parameter" layer="b" role="weight" shape="[4]" dtype="float32"
note master category="optimizer" layer="a" role="master" shape="[4]" dtype="float32"
note cast category="workspace" layer="b" role="autocast weight" shape="[4]" dtype="bfloat16"
note moment_a category="optimizer" layer="a" role="exp_avg" shape="[4]" dtype="float32"
note moment_b category="optimizer" layer="b" role="exp_avg" shape="[4]" dtype="float32"
note temporary category="backward-temporary" layer="a" role="grad" shape="[4]" dtype="float32"
note grad_a category="gradient" layer="a" role="grad" shape="[4]" dtype="float32"
note grad_b category="gradient" layer="b" role="grad" shape="[4]" dtype="float32"
note table category="workspace" layer="positions" role="table" shape="[9]" dtype="float32"
device 0
alloc 0x1000 1000 @1 stack=model note=a
alloc 0x2000 2000 @1 stack=model note=b
`

func TestWaste(t *testing.T) {
	const begin, end = "\nstep_begin - 1 @10\n", "\nstep_end - 1 @20\n"
	gradients := "alloc 0x8000 50 @11 note=grad_a\nfree_completed 0x8000 50 @12\nalloc 0x8000 50 @13 note=grad_b\nfree_completed 0x8000 50 @14\n"
	tests := map[string]struct {
		events string
		want   string // kind, bytes, blocks and line of each
	}{
		"nothing": {begin + gradients + end, ""},
		"a weight and its master": {
			"alloc 0x3000 2000 @2 stack=state note=master" + begin + gradients + end, "two_precisions 1000 1 model.py:7 build",
		},
		"a weight and its cast, at the peak alone": {
			begin + gradients + "alloc 0x3000 1000 @15 stack=cast note=cast\nfree_completed 0x3000 1000 @16" + end, "two_precisions 1000 1 amp.py:9 cast",
		},
		"moments are no copies": {"alloc 0x3000 2000 @2 stack=state note=moment_a" + begin + gradients + end, ""},
		"state of a layer without a gradient": {
			"alloc 0x3000 2000 @2 stack=state note=moment_a\nalloc 0x4000 3000 @2 stack=state note=moment_b" + begin + "alloc 0x8000 50 @11 note=grad_a\nfree_completed 0x8000 50 @12" + end,
			"unused_optimizer_state 3000 1 optim.py:5 state",
		},
		"a gradient that was something else first": {
			"alloc 0x3000 2000 @2 stack=state note=moment_a" + begin + "alloc 0x8000 50 @11 note=temporary\nretag 0x8000 50 @11 note=grad_a\nfree_completed 0x8000 50 @12\nalloc 0x8000 50 @13 note=grad_b\nfree_completed 0x8000 50 @14" + end,
			"",
		},
		"state, and gradients elsewhere": {"alloc 0x3000 2000 @2 stack=state note=moment_a" + begin + end, ""},
		"a gradient of the step before": {
			"alloc 0x3000 70 @2 stack=model note=grad_a" + begin + gradients + end, "stale_gradient 70 1 model.py:7 build",
		},
		"a gradient of this step": {begin + gradients + "alloc 0x3000 70 @15 stack=model note=grad_a" + end, ""},
		"one table three times": {
			"alloc 0x3000 70 @2 stack=cast note=table\nalloc 0x4000 70 @2 stack=cast note=table\nalloc 0x5000 70 @2 stack=cast note=table" + begin + gradients + end,
			"duplicate 140 2 amp.py:9 cast",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr := tracetest.Parse(t, wasteNotes+test.events)
			found, known := NewIndex(tr, &tr.Devices[0]).Waste()
			var got []string
			for i := range found {
				w := &found[i]
				got = append(got, strings.Join([]string{w.Kind.Name, strconv.FormatInt(w.Bytes, 10), strconv.Itoa(w.Count), w.Name}, " "))
			}
			if !known || strings.Join(got, "; ") != test.want {
				t.Errorf("got %q, a step is known: %v; want %q", got, known, test.want)
			}
		})
	}
}

func TestARunThatIsInOrderWastesNothing(t *testing.T) {
	tr := traintest.Innocent()["steady"].Trace(t)
	if found, known := NewIndex(tr, &tr.Devices[0]).Waste(); len(found) > 0 || !known {
		t.Errorf("got %+v, a step is known: %v", found, known)
	}
}

func TestWithoutStepsOnlyRoundingIsKnown(t *testing.T) {
	for requested, want := range map[string]int64{"1000000": 2145728, "2097152": 1 << 20, "2097153": 0} { // less than 1 MiB is worth no word
		tr := tracetest.Parse(t, `
device 0
segment 0x100000 4194304
block 0x100000 3145728 active_allocated requested=`+requested)
		found, known := NewIndex(tr, &tr.Devices[0]).Waste()
		got := int64(0)
		for i := range found {
			got += found[i].Bytes
		}
		if known || got != want || got > 0 && found[0].Kind != &RoundingWaste {
			t.Errorf("%s bytes requested of 3 MiB: got %+v, a step is known: %v", requested, found, known)
		}
	}
}
