package report

import (
	"fmt"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
)

// TestARehearsalNamesWhatHoldsAndWhatGrows: a list keeps a mebibyte of each step.
func TestARehearsalNamesWhatHoldsAndWhatGrows(t *testing.T) {
	const mib = 1 << 20
	list := "note kept role=\"kept by history[…], train.py:7\"\n"
	read := tracetest.Parse(t, list+tracetest.Steps(8, func(s int) string {
		return fmt.Sprintf("alloc 0x%[2]x 1048576 @%[1]d100 stack=main note=kept\nalloc 0x100 4096 @%[1]d200 stack=act\nfree_completed 0x100 4096 @%[1]d300\n", s, (s+1)<<24)
	}))
	r := rehearsalOn(8 * gib)
	r.Add(RehearsedOn{Steps: 8, DeviceBytes: 8*gib - 100*mib}, New(read), false)
	held := analysis.Held{Line: "train.py:10 main", Category: "other", Bytes: 8 * mib, Count: 8, Keeper: "history[…], train.py:7"}
	if got := r.Ranks[0].HoldersAtPeak; len(got) == 0 || got[0] != held {
		t.Errorf("holders %+v, want %+v first", got, held)
	}
	if got, want := r.Ranks[0].Growth, []Grows{{held.Line, held.Keeper, held.Category, mib, 108}}; !slices.Equal(got, want) {
		t.Errorf("growth %+v, want %+v", got, want)
	}
}
