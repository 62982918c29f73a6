package analysis

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/snapshots/trace"
)

// counted is one allocation as a reader of the file would look at it.
type counted struct {
	size     int64
	category trace.Category
	stack    string // its frames' functions and files, in small letters, a line each
}

// countedAt lists what is alive at the peak, one by one.
func countedAt(x *Index) []counted {
	var all []counted
	for id := trace.AllocationID(-len(x.life.Held)); int(id) < x.events.Len(); id++ {
		if id >= 0 && x.events.At(int(id)).Kind != trace.Alloc {
			continue
		}
		a := x.life.Allocation(id)
		if at := x.Summary().PeakEvent; a.Open > at || a.Close <= at {
			continue
		}
		c := counted{size: a.Size}
		c.category, _ = x.Category(a)
		if !a.FreeStack {
			for _, frame := range x.Frames(a.Stack) {
				c.stack += strings.ToLower(frame[strings.LastIndexAny(frame, `/\`)+1:]) + "\n"
			}
		}
		all = append(all, c)
	}
	return all
}

func sumOf(all []counted, fits func(c *counted) bool) int64 {
	var bytes int64
	for i := range all {
		if fits(&all[i]) {
			bytes += all[i].size
		}
	}
	return bytes
}

func (c *counted) says(words ...string) bool {
	for _, word := range words {
		if strings.Contains(c.stack, word) {
			return true
		}
	}
	return false
}

// attends reports whether the allocation is of a layer that attends, and not of a loss.
func (c *counted) attends() bool {
	return c.says("attention", "attn", "sdpa") && !c.says("log_softmax", "cross_entropy", "nll_loss", "logsumexp")
}

// TestFindingsOfRealFilesEqualACountOfAllocations counts what findings are about again,
// allocation by allocation, from the words on their stacks.
func TestFindingsOfRealFilesEqualACountOfAllocations(t *testing.T) {
	fatal.IfShort(t)
	checked := make(map[string]int)
	onfile.Shared(t, func(t *testing.T, _ string, tr *trace.Trace) {
		t.Helper()
		x := NewIndex(tr, &tr.Devices[0])
		all := countedAt(x)
		of := func(category trace.Category) int64 {
			return sumOf(all, func(c *counted) bool { return c.category == category })
		}
		var scores int64 // the largest of a softmax within attention
		for i := range all {
			c := &all[i]
			if c.attends() && c.says("softmax") {
				scores = max(scores, c.size)
			}
		}
		for _, f := range x.Findings() {
			// Of some of these a finding is about a part: what outlives its step, what layers
			// have in common.
			var bytes, least int64
			switch f.Kind.Name {
			case "peak":
				bytes = sumOf(all, func(*counted) bool { return true })
				least = bytes
			case "optimizer_state":
				bytes = of(trace.Optimizer)
				least = bytes / 2
			case "kv_cache":
				bytes = of(trace.KVCache)
				least = bytes
			case "checkpointing":
				bytes = of(trace.Activation)
				least = bytes / 2
			case "attention_scores":
				sized := func(c *counted) bool { return c.size == scores || 2*c.size == scores }
				least = sumOf(all, func(c *counted) bool { return c.attends() && sized(c) })
				bytes = sumOf(all, sized) // what backward makes of them too
			default:
				continue
			}
			checked[f.Kind.Name]++
			if f.Bytes > bytes || f.Bytes < least || f.Saving > f.Bytes || f.Saving == 0 && f.Kind != PeakFinding {
				t.Errorf("%s: about %d and saves %d, counted from %d to %d", f.Kind.Name, f.Bytes, f.Saving, least, bytes)
			}
		}
	})
	for _, kind := range []string{"peak", "optimizer_state", "kv_cache", "checkpointing", "attention_scores"} {
		if checked[kind] == 0 {
			t.Errorf("no file has a finding of kind %s", kind)
		}
	}
}
