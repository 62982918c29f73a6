package page

import (
	"math"
	"testing"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

func TestABarOfBlocksOfAnySize(t *testing.T) {
	const size = 4096
	tests := map[string]struct {
		blocks []int64
		live   []bool // of four cells
	}{
		"blocks that fill it":               {[]int64{2048, 2048}, []bool{true, true, true, true}},
		"one below zero":                    {[]int64{-1 << 40, 1024}, []bool{true, false, false, false}},
		"one that goes on behind it":        {[]int64{math.MaxInt64}, []bool{true, true, true, true}},
		"several that are more than 63 bit": {[]int64{math.MaxInt64, math.MaxInt64, math.MinInt64}, []bool{true, true, true, true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := &analysis.MapSegment{Size: size}
			for _, n := range test.blocks {
				s.Blocks = append(s.Blocks, analysis.MapBlock{Size: n, State: trace.Allocated})
			}
			for i, m := range mixes(s, len(test.live)) {
				if m.live > 0 != test.live[i] {
					t.Errorf("cell %d has %d live bytes, want some: %v", i, m.live, test.live[i])
				}
			}
		})
	}
}

func TestASparkOfAnyNumbers(t *testing.T) {
	for name, values := range map[string][]int64{
		"the extremes":          {math.MinInt64, 0, math.MaxInt64},
		"neighbours far from 0": {math.MaxInt64 - 1, math.MaxInt64},
	} {
		t.Run(name, func(*testing.T) {
			Spark(screen.New(screen.NewTheme(false, false), 10, 1), 0, 0, 10, values, screen.Plain)
		})
	}
}
