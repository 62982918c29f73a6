package alloc

import (
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// BenchmarkPair measures a free and an alloc among live blocks of mixed sizes,
// as a training step makes them, with and without a history. Run it with
//
//	go test -run '^$' -bench Pair ./engine/alloc
func BenchmarkPair(b *testing.B) {
	for name, test := range map[string]struct {
		live    int
		options Options
	}{
		"100 live":                        {100, Options{}},
		"1000 live":                       {1000, Options{}},
		"1000 live, recording":            {1000, Options{History: 1 << 16}},
		"1000 live, recording, tagged":    {1000, Options{History: 1 << 16, Recorder: &sink{}}},
		"10000 live, recording":           {10000, Options{History: 1 << 16}},
		"1000 live, recording the stacks": {1000, Options{History: 1 << 16, Stacks: StacksAlloc}},
	} {
		b.Run(name, func(b *testing.B) { benchmarkPair(b, test.live, test.options) })
	}
}

func benchmarkPair(b *testing.B, live int, o Options) {
	b.Helper()
	a := newAllocator(b, newMemory(b, 1<<44), o)
	rnd := rand.New(rand.NewPCG(1, 2))
	sizes := make([]int64, 4096)
	for i := range sizes {
		sizes[i] = randomSize(rnd)
	}
	tag := a.Tag(Label{Category: trace.Activation, Layer: "blocks.0.attn", Role: "probs"})
	blocks := make([]Allocation, live)
	for i := range blocks {
		blocks[i], _ = a.Alloc(sizes[i%len(sizes)], 0, tag)
	}
	order := rnd.Perm(1 << 16)
	pair := func(i int) {
		at := order[i&(1<<16-1)] % live
		a.Free(blocks[at])
		blocks[at], _ = a.Alloc(sizes[i&4095], 0, tag)
	}
	for i := range 1 << 18 { // the cache grows to what the sizes need
		pair(i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		pair(i)
		i++
	}
}
