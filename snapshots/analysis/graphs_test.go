package analysis

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
)

// twoGraphs has a graph in a pool of its own that keeps one of two blocks, and one that
// uses the memory of the other and frees what the first has kept. Between them, the pool serves what is in no graph.
const twoGraphs = `
note graph pool=1,0
note other pool=0,0
device 0
segment_alloc 0x10000000 20971520 note=other @100
alloc 0x10000000 2097152 note=other @100
segment_alloc 0x20000000 20971520 note=graph @110
alloc 0x20000000 2097152 note=graph @110
alloc 0x20200000 4194303 note=graph @111
free_requested 0x20200000 4194303 note=graph @112
free_completed 0x20200000 4194303 note=graph @112
alloc 0x20200000 1572864 note=graph @113
free_requested 0x20200000 1572864 note=graph @113
free_completed 0x20200000 1572864 note=graph @113
alloc 0x10200000 2097152 note=other @113
alloc 0x20200000 1048577 note=graph @130
free_requested 0x20200000 1048577 note=graph @131
free_completed 0x20200000 1048577 note=graph @131
alloc 0x20200000 3145728 note=graph @150
free_requested 0x20000000 2097152 note=graph @151
free_completed 0x20000000 2097152 note=graph @151
segment 0x10000000 20971520 stream=0 type="large" pool=0,0
block 0x10000000 2097152 active_allocated requested=2097152 note=other
block 0x10200000 2097152 active_allocated requested=2097152 note=other
block 0x10400000 16777216 inactive
segment 0x20000000 20971520 stream=0 type="large" pool=1,0
block 0x20000000 2097152 inactive
block 0x20200000 3145728 active_allocated requested=3145728 note=graph
block 0x20500000 15728640 inactive
annotations
`

func ranged(name string, from, to string) string {
	return `annotation "` + name + `" "START" device=0 @` + from + "\n" + `annotation "` + name + `" "END" device=0 @` + to + "\n"
}

func TestGraphsAreMeasuredByTheirCaptures(t *testing.T) {
	first, second := ranged("CUDA graph in pool (1, 0), a.py:3, size=8", "105", "120"), ranged("CUDA graph in pool (1, 0), a.py:3, size=4", "140", "160")
	large := Graph{Name: "a.py:3, size=8", Pool: [2]int64{1, 0}, Needs: 6 << 20, Keeps: 2 << 20, Grew: 20 << 20, from: 2, to: 11}
	small := Graph{Name: "a.py:3, size=4", Pool: [2]int64{1, 0}, Needs: 3 << 20, Keeps: 3 << 20, from: 14, to: 17}
	for name, test := range map[string]struct {
		marks string
		want  []Graph
	}{
		"two captures":              {first + second, []Graph{large, small}},
		"no captures":               {"", nil},
		"a range of the program's":  {ranged("forward", "105", "120") + second, []Graph{small}},
		"one within another":        {first + ranged("CUDA graph in pool (1, 0), b.py:1", "111", "112") + second, []Graph{large, small}},
		"a capture that never ends": {strings.Split(first, "\n")[0] + "\n" + second, []Graph{small}},
		"no pool":                   {ranged("CUDA graph in pool a.py:3", "105", "120") + ranged("CUDA graph in pool (0, 0), a.py:3", "105", "120") + second, []Graph{small}},
	} {
		t.Run(name, func(t *testing.T) {
			got := indexOf(t, twoGraphs+test.marks).Graphs(nil)
			if len(got.Captured) != len(test.want) || got.Pools != 1 {
				t.Fatalf("got %+v", got)
			}
			for i := range test.want {
				if got.Captured[i] != test.want[i] {
					t.Errorf("got %+v, want %+v", got.Captured[i], test.want[i])
				}
			}
		})
	}
}

// TestWhatAGraphSavesIsKnownFromAnExactReplayOnly asks about one pool for all, and then
// about each graph.
func TestWhatAGraphSavesIsKnownFromAnExactReplayOnly(t *testing.T) {
	const mib = 1 << 20
	text := strings.Replace(twoGraphs, "stream=0 type=\"large\" pool=0,0", "stream=0 type=\"large\" pool=2,0", 1)
	x := indexOf(t, text+ranged("CUDA graph in pool (1, 0), a.py:3", "105", "120"))
	q, needed := x.Ask(NoEvent)
	if !needed || len(q.Graphs) != 2 || len(q.Graphs[0].OnePool) != 2 || q.Captured != 10 {
		t.Fatalf("asked for %+v, captured by %d", q.Graphs, q.Captured)
	}
	exact := func() *whatif.Answer {
		return &whatif.Answer{
			Again:  &whatif.Run{Captured: 40 * mib},
			Graphs: []whatif.Run{{Captured: 20 * mib}, {Captured: 38 * mib}},
		}
	}
	found := x.Graphs(exact())
	if found.OnePool == nil || *found.OnePool != 20*mib || found.Captured[0].Without == nil || *found.Captured[0].Without != 2*mib {
		t.Errorf("got %+v", found)
	}
	for name, spoil := range map[string]func(a *whatif.Answer){
		"it contradicts itself":  func(a *whatif.Answer) { a.Recorded.WhyNot = "it contradicts itself" },
		"another level":          func(a *whatif.Answer) { a.Again.Captured++ },
		"no replay of the graph": func(a *whatif.Answer) { a.Graphs = nil },
		"a replay that ends":     func(a *whatif.Answer) { a.Graphs[0].Ends, a.Graphs[1].Ends = true, true },
	} {
		a := exact()
		spoil(a)
		if found := x.Graphs(a); found.OnePool != nil || found.Captured[0].Without != nil {
			t.Errorf("%s: got %+v", name, found)
		}
	}
	for saved, want := range map[int64]int64{20 * mib: 20 * mib, 0: 0} {
		a := exact()
		a.Graphs[0].Captured = 40*mib - saved
		f := finder{found: []Finding{{Kind: PrivatePoolFinding, Remedy: sharedPool}}}
		f.onePool(x.Graphs(a))
		equal.Values(t, "the saving", want, f.found[0].Saving)
		equal.Values(t, "whether it is advised", saved > 0, f.found[0].Remedy != "")
	}
}
