package analysis

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestARetagMovesBytesBetweenCategoriesFromThenOn follows one allocation that
// is workspace at first and an activation later.
func TestARetagMovesBytesBetweenCategoriesFromThenOn(t *testing.T) {
	x := indexOf(t, `note workspace category="workspace"
note activation category="activation"
device 0
alloc 0x1000 700 note=workspace
alloc 0x2000 30 note=workspace
retag 0x1000 700 note=activation
retag 0x9000 5 note=activation
free_requested 0x1000 700 note=activation
free_completed 0x1000 700 note=activation
`)
	type moment struct{ workspace, activation int64 }
	for at, want := range map[int]moment{0: {700, 0}, 1: {730, 0}, 2: {30, 700}, 3: {30, 700}, 4: {30, 700}, 5: {30, 0}} {
		sums, counted := x.CategoriesAt(at), CategoriesOf(x.RulesAt(at))
		if got := (moment{sums[trace.Workspace], sums[trace.Activation]}); got != want {
			t.Errorf("after event %d: %+v, want %+v", at, got, want)
		}
		if sums != counted {
			t.Errorf("after event %d: the series says %v, counting says %v", at, sums, counted)
		}
	}
	for at, from := range map[int]int{1: 0, 2: 2} {
		if got, want := x.AliveAt(at)[0].Note, x.Device().Events.At(from).Note; got != want {
			t.Errorf("alive after event %d: note %d, want %d", at, got, want)
		}
	}
}

// TestWhatAProgramCallsItsMemoryIsWhatItIsFor names memory as PyTorch's metadata
// of an allocation does, and its later annotations.
func TestWhatAProgramCallsItsMemoryIsWhatItIsFor(t *testing.T) {
	x := indexOf(t, `note cache user_metadata="{\"category\": \"kv-cache\"}"
note said user_metadata="kv-cache"
note table user_metadata="table"
note pinned user_metadata="mallocWithAddress"
device 0
alloc 0x1000 700 note=said
alloc 0x2000 30 note=table
alloc 0x3000 4 note=pinned
annotate 0x3000 0 note=cache
annotate 0x1000 0 note=table
`)
	for at, cache := range []int64{700, 700, 700, 704, 4} {
		if sums := x.CategoriesAt(at); sums[trace.KVCache] != cache {
			t.Errorf("after event %d: %d bytes of cache, want %d", at, sums[trace.KVCache], cache)
		}
	}
	equal.Values(t, "labels before", []Label{{"kv-cache", 700, 1}, {"table", 30, 1}, {`{"category": "kv-cache"}`, 4, 1}}, x.LabelsAt(3))
	equal.Values(t, "labels after", []Label{{"table", 730, 2}, {`{"category": "kv-cache"}`, 4, 1}}, x.LabelsAt(4))
}
