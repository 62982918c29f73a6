package category_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// blocks writes a final state of blocks without a stack.
func blocks(sizes ...int64) string {
	var text strings.Builder
	var total int64
	for _, size := range sizes {
		total += size
	}
	fmt.Fprintf(&text, "segment 0x10000000 %d type=\"large\"\n", total)
	addr := int64(0x10000000)
	for _, size := range sizes {
		fmt.Fprintf(&text, "block 0x%x %d active_allocated requested=%d\n", addr, size, size)
		addr += size
	}
	return text.String()
}

// times returns a size n times.
func times(n int, size int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = size
	}
	return all
}

func join(lists ...[]int64) []int64 {
	var all []int64
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// frees9 frees nine blocks from before the trace, as the end of a program does.
func frees9() string {
	var text strings.Builder
	for k := range 9 {
		fmt.Fprintf(&text, "free_completed 0x%d0000 4096 stack=loop\n", k+1)
	}
	return text.String()
}

// sizes returns each size n times.
func sizes(n int, each ...int64) []int64 {
	var all []int64
	for _, size := range each {
		all = append(all, times(n, size)...)
	}
	return all
}

// passes writes two steps, each with a backward pass that makes one gradient of each size.
func passes(gradients ...int64) string { return step(gradients...) + step(gradients...) }

// kept writes calls of a model of which each leaves a result.
func kept(n int, bytes int64) string {
	var text strings.Builder
	for k := range n {
		fmt.Fprintf(&text, "alloc 0x%d00000000 %d stack=sampled\n%s", k+1, bytes, calls(1, "loop", false))
	}
	return text.String()
}

// TestHeldFromBefore sums up by category what was held before the first event.
func TestHeldFromBefore(t *testing.T) {
	// One backward pass that makes a gradient of each of two sizes, and keeps or frees them.
	const keeps = "alloc 0x1000 4096 stack=back\nalloc 0x3000 8192 stack=back\nalloc 0x9000 64 stack=forward\n"
	const frees = "alloc 0x1000 4096 stack=back\nfree_completed 0x1000 4096 stack=back\n" +
		"alloc 0x3000 8192 stack=back\nfree_completed 0x3000 8192 stack=back\nalloc 0x9000 64 stack=forward\n"
	const infers = "alloc 0x9000 64 stack=sampled\nfree_completed 0x9000 64 stack=sampled\n"
	tests := map[string]struct {
		events string
		blocks []int64
		want   map[trace.Category]int64
	}{
		"one copy is the weights":          {infers, []int64{4096, 8192}, map[trace.Category]int64{trace.Parameter: 12288}},
		"two, where backward adds to one":  {frees, join(times(2, 4096), times(2, 8192)), map[trace.Category]int64{trace.Parameter: 12288, trace.Gradient: 12288}},
		"two, where gradients are dropped": {keeps, join(times(2, 4096), times(2, 8192)), map[trace.Category]int64{trace.Parameter: 12288, trace.Optimizer: 12288}},
		"three are weights and Adam's":     {keeps, join(times(3, 4096), times(3, 8192)), map[trace.Category]int64{trace.Parameter: 12288, trace.Optimizer: 24576}},
		"four with gradients that stay":    {frees, join(times(4, 4096), times(4, 8192)), map[trace.Category]int64{trace.Parameter: 12288, trace.Gradient: 12288, trace.Optimizer: 24576}},
		"frozen weights have one copy, whatever the trained ones have": {
			keeps, join(times(3, 4096), times(10, 1<<20)), map[trace.Category]int64{trace.Parameter: 4096 + 10<<20, trace.Optimizer: 8192},
		},
		"a pass that is cut off tells no copies": {
			"alloc 0x1000 4096 stack=back\nalloc 0x3000 8192 stack=back\n", join(times(7, 4096), times(5, 8192)),
			map[trace.Category]int64{trace.Parameter: 7*4096 + 5*8192},
		},
		"counts alone show weights and Adam's": {
			"alloc 0x9000 64 stack=forward\n", join(times(36, 4096), times(12, 8192), times(24, 16384), times(3, 1<<20)),
			map[trace.Category]int64{trace.Parameter: 12*4096 + 4*8192 + 8*16384 + 1<<20, trace.Optimizer: 2 * (12*4096 + 4*8192 + 8*16384 + 1<<20)},
		},
		"sizes tell nothing beside a writer that notes what it knows": {
			keeps + "note seen category=\"parameter\"\nalloc 0xa000 64 note=seen\n", join(times(3, 4096), times(3, 8192)),
			map[trace.Category]int64{trace.OtherCategory: 3*4096 + 3*8192},
		},
		"a cuBLAS workspace": {infers, []int64{8519680}, map[trace.Category]int64{trace.Workspace: 8519680}},
		"what the step frees is a moment": {
			"free_completed 0x1000 4096 stack=ownstep\nalloc 0x9000 64 stack=forward\n", nil, map[trace.Category]int64{trace.Optimizer: 4096},
		},
		"what zero_grad frees is a gradient": {
			"free_completed 0x1000 4096 stack=zeroing\nalloc 0x9000 64 stack=forward\n", nil, map[trace.Category]int64{trace.Gradient: 4096},
		},
		"what backward frees is a result": {
			"free_completed 0x1000 4096 stack=back\nalloc 0x9000 64 stack=forward\n", nil, map[trace.Category]int64{trace.Activation: 4096},
		},
		"what the loop frees is like what the model makes of its size": {
			"free_completed 0x1000 4096 stack=loop\nalloc 0x1000 4096 stack=sampled\nfree_completed 0x1000 4096 stack=sampled\n", nil,
			map[trace.Category]int64{trace.Inference: 4096},
		},
		"nothing is known of what the loop frees": {
			"free_completed 0x1000 4096 stack=loop\nalloc 0x9000 64 stack=sampled\n", nil, map[trace.Category]int64{trace.OtherCategory: 4096},
		},
		"layers repeat, without a history": {
			"", join(times(12, 4<<20), times(24, 2048), times(1, 30<<20)), map[trace.Category]int64{trace.Parameter: 12*4<<20 + 24*2048 + 30<<20},
		},
		"one size that repeats is no model, without a history": {
			"", times(34, 8<<20), map[trace.Category]int64{trace.OtherCategory: 34 * 8 << 20},
		},
		"results of layers are far more than their vectors, without a history": {
			"", join(times(20, 1024*4), times(13, 2048*4), times(13*11, 1024*2048*4)),
			map[trace.Category]int64{trace.Parameter: 20*1024*4 + 13*2048*4, trace.OtherCategory: 13 * 11 * 1024 * 2048 * 4},
		},
		"layers of an even number are no copies of Adam's": {
			infers, join(times(16, 1<<20), times(8, 4<<20), times(4, 8<<20), times(4, 16<<20), times(18, 2048)),
			map[trace.Category]int64{trace.Parameter: 16<<20 + 32<<20 + 32<<20 + 64<<20 + 18*2048},
		},
		"what a program's end frees was never freed": {
			"alloc 0x9000 64 stack=forward\n" + strings.Repeat("free_completed 0x9000 64 stack=loop\nalloc 0x9000 64 stack=forward\n", 1) + frees9(), nil,
			map[trace.Category]int64{trace.Parameter: 9 * 4096},
		},
		"pictures are no matrices, without a history": {
			"", join(times(7, 1280*4), times(5, 1280*1280*9*4), times(3, 513*513*128*4)),
			map[trace.Category]int64{trace.Parameter: 7*1280*4 + 5*1280*1280*9*4, trace.OtherCategory: 3 * 513 * 513 * 128 * 4},
		},
		"four, where gradients are dropped, are two sets of weights and Adam's": {
			keeps, join(times(4, 4096), times(4, 8192)), map[trace.Category]int64{trace.Parameter: 24576, trace.Optimizer: 24576},
		},
		"main weights and state in twice the bytes": {
			passes(1000, 1200, 1400), join(sizes(1, 1000, 1200, 1400), sizes(3, 2000, 2400, 2800)),
			map[trace.Category]int64{trace.Parameter: 3600, trace.Optimizer: 21600},
		},
		"a block without gradients beside weights that have them": {
			keeps, join(times(3, 4096), times(3, 8192), times(1, 1<<20)),
			map[trace.Category]int64{trace.Parameter: 12288, trace.Optimizer: 24576, trace.OtherCategory: 1 << 20},
		},
		"of two networks that train in turn": {
			passes(1000, 1200) + passes(1400, 1600), sizes(3, 1000, 1200, 1400, 1600), map[trace.Category]int64{trace.Parameter: 5200, trace.Optimizer: 10400},
		},
		"a part of the layers in a pass whose end is not seen": {
			strings.Repeat("alloc 0x7000 64 stack=back\nfree_completed 0x7000 64 stack=back\n", 2) + "alloc 0x1000 1000 stack=back\nalloc 0x2000 1000 stack=back\nalloc 0x3000 1200 stack=back\n" +
				strings.Repeat("alloc 0x7000 64 stack=back\nfree_completed 0x7000 64 stack=back\n", 9), join(times(6, 1000), times(1, 1200)),
			map[trace.Category]int64{trace.Parameter: 7200},
		},
		"results that pile up": {
			calls(1, "loop", false) + kept(8, 5000), times(5, 5000),
			map[trace.Category]int64{trace.Inference: 25000},
		},
		"weights that do not pile up": {
			calls(1, "loop", false) + kept(1, 5000), times(5, 5000), map[trace.Category]int64{trace.Parameter: 25000},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := test.events
			if len(test.blocks) > 0 {
				text += blocks(test.blocks...)
			}
			j, life := judged(t, own, text)
			got := make(map[trace.Category]int64)
			for k := range life.Held {
				c, _ := j.Of(trace.HeldID(k), life.Held[k].Note)
				got[c] += life.Held[k].Size
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestWeightsThatTheStepReplaces are freed on one line, and state from before on another.
func TestWeightsThatTheStepReplaces(t *testing.T) {
	const frames = own + `
frame updates "/home/me/optimizer.py" 70 "step"
stack updating malloc updates wrapper main
stack updated updates wrapper main
stack remembered mine wrapper main
`
	var text strings.Builder
	for range 2 {
		text.WriteString(step(1000, 2000))
	}
	for k, size := range []int64{1000, 2000} {
		fmt.Fprintf(&text, "free_completed 0x%d10000 %d stack=updated\n", k+1, size)
		fmt.Fprintf(&text, "free_completed 0x%d20000 %d stack=remembered\n", k+1, size)
		fmt.Fprintf(&text, "free_completed 0x%d30000 %d stack=remembered\n", k+1, size)
	}
	text.WriteString("alloc 0x9000 64 stack=forward\n")
	j, life := judged(t, frames, text.String())
	got := make(map[trace.Category]int64)
	for k := range life.Held {
		c, _ := j.Of(trace.HeldID(k), life.Held[k].Note)
		got[c] += life.Held[k].Size
	}
	if want := (map[trace.Category]int64{trace.Parameter: 3000, trace.Optimizer: 6000}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
