package analysis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/savings"
)

// comings is a trace of blocks that come and go at random, of three stacks.
func comings(random *rand.Rand, events int) string {
	var text strings.Builder
	text.WriteString(tracetest.Frames + "device 0\n")
	alive := make(map[int]int)
	next := 1
	for range events {
		if len(alive) > 0 && random.IntN(5) < 2 {
			for addr, size := range alive { // any of them
				fmt.Fprintf(&text, "free_completed 0x%x %d\n", addr, size)
				delete(alive, addr)
				break
			}
			continue
		}
		size := 512 * (1 + random.IntN(100))
		fmt.Fprintf(&text, "alloc 0x%x %d stack=%s\n", next<<20, size, []string{"main", "act", "opt"}[random.IntN(3)])
		alive[next<<20] = size
		next++
		if random.IntN(20) == 0 {
			fmt.Fprintf(&text, "free_completed 0x%x 4096 stack=act\n", (next+1<<20)<<20) // held from before
		}
	}
	return text.String()
}

// TestADropIsThatOfATraceWithoutTheBlocks takes blocks away from random traces, and
// compares with the levels of every event, added up one by one.
func TestADropIsThatOfATraceWithoutTheBlocks(t *testing.T) {
	for seed := range seeds(40) {
		random := rand.New(rand.NewPCG(seed, 0))
		x := indexOf(t, comings(random, 20+random.IntN(1500)))
		keep := int64(random.IntN(1 << 18))
		reduction := savings.Reduction{Keep: keep, Of: func(p *savings.Part) int64 {
			if int(p.Stack)%3 == 0 {
				return 0
			}
			return p.Size * int64(p.Stack%3) / 2
		}}
		from, to := 0, x.events.Len()
		if seed%2 == 1 {
			from = random.IntN(to)
			to = from + 1 + random.IntN(to-from)
		}
		found := []savings.Saving{{Reduction: reduction}}
		x.drops(new(savings.Scene), found, from, to, 0)
		got := found[0].Saved
		var before, after int64
		for at := from; at < to; at++ {
			before, after = max(before, levelWithout(x, at, nil)), max(after, levelWithout(x, at, &reduction))
		}
		if from == 0 {
			before, after = max(before, levelWithout(x, -1, nil)), max(after, levelWithout(x, -1, &reduction))
		}
		if want := before - after; got != want {
			t.Errorf("seed %d, events [%d, %d): the peak of %d drops by %d, want %d", seed, from, to, before, got, want)
		}
	}
}

// levelWithout adds up what is alive after an event, less what a reduction takes.
func levelWithout(x *Index, at int, r *savings.Reduction) int64 {
	var level, gone int64
	for _, a := range x.alive(at) {
		level += a.Size
		if r != nil {
			stack := a.Stack
			if a.FreeStack {
				stack = 0
			}
			gone += r.Of(&savings.Part{Stack: stack, Size: a.Size})
		}
	}
	if r != nil {
		level -= r.Gone(gone)
	}
	return level
}

// TestTheLossInPiecesSavesWhatBelongsToIt has logits of 64 MiB beside the scores of
// attention, which have the same size, and a gradient of 16 MiB of the weight that made
// the logits; with the loss in pieces, that of a piece is added to that of the others.
func TestTheLossInPiecesSavesWhatBelongsToIt(t *testing.T) {
	const stacks = "frame logp \"/env/site-packages/torch/nn/functional.py\" 2100 \"log_softmax\"\nstack loss malloc logp loss user\ndevice 0\n"
	alloc := func(addr, mebibytes int, stack string) string {
		return fmt.Sprintf("alloc 0x%x %d stack=%s\n", addr<<28, mebibytes<<20, stack)
	}
	free := func(addr, mebibytes int) string {
		return fmt.Sprintf("free_requested 0x%x %d stack=grad\nfree_completed 0x%x %d\n", addr<<28, mebibytes<<20, addr<<28, mebibytes<<20)
	}
	forward := alloc(1, 8, "param") + alloc(2, 64, "act") + alloc(8, 64, "act") + alloc(3, 64, "loss")
	backward := alloc(4, 64, "grad") + alloc(5, 64, "grad") + free(4, 64) + free(3, 64)
	end := free(5, 64)
	for name, test := range map[string]struct {
		text string
		want int64 // MiB of 328 or 200
	}{
		"its own backward":                   {forward + backward + end, 328 - (8 + 128 + 3*8)},
		"backward of what has the same size": {forward + backward + end + alloc(6, 64, "grad") + free(6, 64), 328 - (8 + 128 + 64)},
		"what the loss is given":             {alloc(1, 8, "param") + alloc(2, 64, "act") + alloc(3, 64, "loss") + strings.ReplaceAll(free(2, 64), "grad", "act") + backward + end, 200 - (8 + 3*8)},
		"a gradient":                         {forward + backward + alloc(7, 16, "grad") + end + free(7, 16), 328 - (8 + 128 + 8 + 2*16)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := savingOf(indexOf(t, tracetest.Frames+stacks+test.text+free(8, 64)+free(2, 64)), "logits"); got != test.want<<20 {
				t.Errorf("saves %d MiB, want %d", got>>20, test.want)
			}
		})
	}
}
