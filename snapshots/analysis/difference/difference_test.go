package difference_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/difference"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// names are what the traces of this file call; FOLDER is where the program lies.
const names = `
frame linear "FOLDER/model.py" 20 "forward"
frame attend "FOLDER/model.py" 30 "forward"
frame scores "FOLDER/model.py" 31 "forward"
frame build "FOLDER/train.py" 5 "__init__"
frame main "FOLDER/train.py" 10 "main"
frame update "FOLDER/adam.py" 7 "step"
frame cast "??" 0 "at::autocast::cached_cast(c10::ScalarType)"
frame wrap "??" 0 "at::autocast::WrapFunction_<x>::call(y)"
frame again "/lib/site-packages/torch/utils/checkpoint.py" 9 "checkpoint"
stack lin linear main
stack att attend main
stack sco scores main
stack half wrap linear main
stack cop cast linear main
stack ckpt linear again main
stack init build main
stack opt update main
`

// side makes a trace of allocations, each "size stack", all of which live.
func side(tb testing.TB, folder string, allocations ...string) *trace.Trace {
	tb.Helper()
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(names, "FOLDER", folder) + "device 0\n")
	for i, a := range allocations {
		size, stack, _ := strings.Cut(a, " ")
		fmt.Fprintf(&b, "alloc %#x %s stack=%s\n", (i+1)<<20, size, stack)
	}
	return tracetest.Parse(tb, b.String())
}

func at(tr *trace.Trace, event int) difference.Side {
	x := analysis.NewIndex(tr, &tr.Devices[0])
	return difference.Side{Index: x, At: min(event, x.End())}
}

const last = 1 << 30

func of(a, b *trace.Trace) *difference.Difference {
	return difference.Of(difference.Merge(a.Tables, b.Tables), at(a, last), at(b, last))
}

// causesOf writes causes as "kind factor: bytes in count -> bytes in count".
func causesOf(d *difference.Difference) []string {
	var all []string
	for _, c := range d.Causes() {
		name := c.Kind.String()
		if c.Kind == difference.Scaled {
			name += " " + c.Factor.String()
		}
		all = append(all, fmt.Sprintf("%s: %d in %d -> %d in %d", name, c.Row.Bytes[0], c.Row.Count[0], c.Row.Bytes[1], c.Row.Count[1]))
	}
	return all
}

func TestCausesAreCounted(t *testing.T) {
	tests := map[string]struct {
		before, after []string
		causes        string
		text          string // of the first
	}{
		"nothing changed": {[]string{"1000 lin", "2000 att"}, []string{"2000 att", "1000 lin"}, "", ""},
		"mixed precision halves what a line keeps and makes copies": {
			[]string{"4096 lin", "4096 lin", "8192 att", "8192 init"},
			[]string{"2048 half", "2048 half", "8192 att", "8192 init", "1024 cop", "1024 cop"},
			"scaled 1/2: 8192 in 2 -> 4096 in 2; cast: 0 in 0 -> 2048 in 2",
			"Half as large: 2 allocations, 8.0 KiB before, 4.0 KiB after; autocast runs after and not before; from model.py:20 forward.",
		},
		"a line has a block that is halved among those that stay": {
			[]string{"4096 lin", "1000 lin", "1000 lin"},
			[]string{"2048 half", "1000 half"},
			"scaled 1/2: 4096 in 1 -> 2048 in 1; vanished: 1000 in 1 -> 0 in 0", "",
		},
		"one block that is halved is another block where no type is": {
			[]string{"4096 lin", "1000 lin"},
			[]string{"2048 lin", "1000 lin"},
			"vanished: 4096 in 1 -> 0 in 0; appeared: 0 in 0 -> 2048 in 1", "",
		},
		"the only block of all that changes is another block where no type is": {
			[]string{"4096 lin"}, []string{"2048 lin"}, "vanished: 4096 in 1 -> 0 in 0; appeared: 0 in 0 -> 2048 in 1", "",
		},
		"blocks of a line with a factor each have no factor in common": {
			[]string{"1000 lin", "3000 lin"},
			[]string{"2000 lin", "9000 lin"},
			"appeared: 0 in 0 -> 11000 in 2; vanished: 4000 in 2 -> 0 in 0", "",
		},
		"the batch doubles and sequences with it": {
			[]string{"3000 lin", "3000 lin", "1000 att", "500 sco", "777 init"},
			[]string{"6000 lin", "6000 lin", "2000 att", "2000 sco", "777 init"},
			"scaled 2: 7000 in 3 -> 14000 in 3; appeared: 0 in 0 -> 2000 in 1; vanished: 500 in 1 -> 0 in 0",
			"2 times as large: 3 allocations, 6.8 KiB before, 13.7 KiB after, as with a batch or a sequence 2 times as long; from model.py:20 forward, model.py:30 forward.",
		},
		"the square of a factor is one where several have it": {
			[]string{"3000 lin", "3000 lin", "500 sco", "700 sco"},
			[]string{"6000 lin", "6000 lin", "2000 sco", "2800 sco"},
			"scaled 2: 6000 in 2 -> 12000 in 2; scaled 4: 1200 in 2 -> 4800 in 2", "",
		},
		"sizes that double are no new blocks where one has the size of another": {
			[]string{"1024 lin", "2048 lin"}, []string{"2048 lin", "4096 lin"}, "scaled 2: 3072 in 2 -> 6144 in 2", "",
		},
		"weights are from another line": {
			[]string{"4096 init", "512 init"},
			[]string{"512 opt", "4096 opt"},
			"moved: 4608 in 2 -> 4608 in 2",
			"From another line, with the same sizes: 2 allocations, 4.5 KiB; from train.py:5 __init__, adam.py:7 step.",
		},
		"checkpointing drops what layers keep": {
			[]string{"4096 lin", "4096 lin", "4096 lin", "100 att"},
			[]string{"4096 ckpt", "100 att"},
			"vanished: 8192 in 2 -> 0 in 0",
			"Only before, activation: 2 allocations, 8.0 KiB; checkpointing runs after and not before; from model.py:20 forward.",
		},
		"one block of a factor that no other has is another block": {
			[]string{"3000 lin"}, []string{"7000 lin"}, "appeared: 0 in 0 -> 7000 in 1; vanished: 3000 in 1 -> 0 in 0", "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := of(side(t, "/home/me", test.before...), side(t, "/home/me", test.after...))
			if got := strings.Join(causesOf(d), "; "); got != test.causes {
				t.Errorf("got  %s\nwant %s", got, test.causes)
			}
			if causes := d.Causes(); test.text != "" && d.Text(&causes[0]) != test.text {
				t.Errorf("got  %s\nwant %s", d.Text(&causes[0]), test.text)
			}
		})
	}
}

// TestCheckpointingMakesAgainWhatIsNotKept has a layer that frees what it allocates, in a
// part of the program that checkpointing runs.
func TestCheckpointingMakesAgainWhatIsNotKept(t *testing.T) {
	const program = names + `
device 0
alloc 0x100000 4096 stack=STACK
FREE
alloc 0x200000 4096 stack=STACK
alloc 0x300000 100 stack=att
`
	parse := func(stack, free string) *trace.Trace {
		return tracetest.Parse(t, strings.NewReplacer("FOLDER", "/home/me", "STACK", stack, "FREE", free).Replace(program))
	}
	kept := parse("lin", "")
	checkpointed := parse("ckpt", "free_requested 0x100000 4096\nfree_completed 0x100000 4096")
	if got, want := strings.Join(causesOf(of(kept, checkpointed)), "; "), "recomputed: 4096 in 1 -> 0 in 0"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := strings.Join(causesOf(of(checkpointed, kept)), "; "), "recomputed: 0 in 0 -> 4096 in 1"; got != want {
		t.Errorf("the other way round: got %s, want %s", got, want)
	}
}

// TestABackwardPassThatOneSideLacksIsSaid has a forward pass whose results only the side
// with a backward pass keeps.
func TestABackwardPassThatOneSideLacksIsSaid(t *testing.T) {
	parse := func(events string) *trace.Trace {
		return tracetest.Parse(t, strings.ReplaceAll(names, "FOLDER", "/home/me")+`
frame engine "??" 0 "torch::autograd::Engine::thread_main(x)"
stack back engine
device 0
alloc 0x100000 4096 stack=lin
`+events)
	}
	d := of(parse("free_requested 0x100000 4096\nfree_completed 0x100000 4096\n"), parse("alloc 0x200000 8 stack=back\n"))
	causes := d.Causes()
	want := "Allocated on both sides, and held at only one of the two moments: 1 allocation, 4.0 KiB; a backward pass runs after and not before; from model.py:20 forward."
	if got := d.Text(&causes[0]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestEqualSizesAreOfEqualCategories has copies of a weight that are of other use.
func TestEqualSizesAreOfEqualCategories(t *testing.T) {
	parse := func(notes ...string) *trace.Trace {
		var text strings.Builder
		text.WriteString(strings.ReplaceAll(names, "FOLDER", "/home/me") + "note weight category=\"parameter\"\nnote state category=\"optimizer\"\ndevice 0\n")
		for i, note := range notes {
			fmt.Fprintf(&text, "alloc %#x 4096 stack=init note=%s\n", (i+1)<<20, note)
		}
		return tracetest.Parse(t, text.String())
	}
	for _, after := range [][]string{{"state", "weight", "state"}, {"weight", "state", "state"}, {"state", "state", "weight"}} {
		causes := of(parse("weight"), parse(after...)).Causes()
		if len(causes) != 1 || causes[0].Category != trace.Optimizer || causes[0].Row.Delta() != 8192 {
			t.Errorf("%v: got %+v, want 8192 bytes of the optimizer", after, causes)
		}
	}
}

func TestMemoryWithoutAStackSaysWhetherItWasHeldBefore(t *testing.T) {
	held := tracetest.Parse(t, "device 0\nfree_requested 0x100000 700\nfree_completed 0x100000 700\nalloc 0x200000 300\n")
	d := difference.Of(difference.Merge(held.Tables, held.Tables), at(held, -1), at(held, last))
	var got []string
	for _, c := range d.Causes() {
		got = append(got, fmt.Sprint(c.Lines[0].Name, " ", c.Row.Delta()))
	}
	if want := "held before recording -700; no stack recorded 300"; strings.Join(got, "; ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "; "), want)
	}
	if root := d.Tree(false, false).Root; len(root.Children) != 2 || root.Children[0].Label != "held before recording" || root.Children[1].Label != "no stack recorded" {
		t.Errorf("the tree has %d branches", len(root.Children))
	}
}

func TestNotedTypesAreNamed(t *testing.T) {
	parse := func(size, dtype string) *trace.Trace {
		return tracetest.Parse(t, strings.ReplaceAll(names, "FOLDER", "/home/me")+"note typed dtype=\""+dtype+"\"\ndevice 0\nalloc 0x100000 "+size+" stack=lin note=typed\n")
	}
	d := of(parse("4096", "float32"), parse("2048", "bfloat16"))
	causes := d.Causes()
	if got, want := d.Text(&causes[0]), "Half as large: 1 allocation, 4.0 KiB before, 2.0 KiB after; float32 before, bfloat16 after; from model.py:20 forward."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOneProgramInTwoFoldersIsTheSame(t *testing.T) {
	d := of(side(t, "/home/me/first", "1000 lin", "500 init"), side(t, "/root/second", "1000 lin", "900 init"))
	var got []string
	for _, r := range d.Lines(lines.Line) {
		got = append(got, fmt.Sprint(r.Name, " ", r.Bytes))
	}
	if want := "train.py:5 __init__ [500 900]; model.py:20 forward [1000 1000]"; strings.Join(got, "; ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "; "), want)
	}
}

func TestWhatIsHeldAtAnotherMomentIsNamedSo(t *testing.T) {
	const steps = names + `
device 0
alloc 0x100000 4096 stack=init
alloc 0x200000 1000 stack=lin
alloc 0x300000 2000 stack=att
free_requested 0x300000 2000
free_completed 0x300000 2000
alloc 0x400000 3000 stack=sco
`
	tr := tracetest.Parse(t, strings.ReplaceAll(steps, "FOLDER", "/home/me"))
	merged := difference.Merge(tr.Tables, tr.Tables)
	d := difference.Of(merged, at(tr, 2), at(tr, last))
	if got, want := strings.Join(causesOf(d), "; "), "other-moment: 2000 in 1 -> 3000 in 1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPhasesAreSeenFromTheMoment(t *testing.T) {
	tr := tracetest.Parse(t, strings.ReplaceAll(names, "FOLDER", "/home/me")+`
annotation "load" "START" device=0 @1
annotation "load" "END" device=0 @3
annotation "ProfilerStep#1" "START" device=0 @4
annotation "ProfilerStep#1" "END" device=0 @6
annotation "ProfilerStep#2" "START" device=0 @7
annotation "ProfilerStep#2" "END" device=0 @9
device 0
alloc 0x100000 4096 stack=init @2
alloc 0x200000 1000 stack=lin @5
alloc 0x300000 2000 stack=att @8
`)
	d := difference.Of(difference.Merge(tr.Tables, tr.Tables), at(tr, 1), at(tr, 2))
	got := make(map[string]string)
	for _, r := range d.Phases() {
		got[r.Name] = fmt.Sprint(r.Bytes)
	}
	want := map[string]string{"before the first step, within load": "[4096 4096]", "in this step": "[1000 2000]", "in an earlier step": "[0 1000]"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := d.Sides[1].When(), "after event 2, in ProfilerStep#2 of 2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
