package alloc

import (
	"math/rand/v2"

	"memtop/snapshots/trace"
)

// sink is a recorder that counts.
type sink struct{ events int }

func (s *sink) Record(int, trace.Event) { s.events++ }

// randomSize returns sizes as programs ask for them: many small ones, edges of
// the rules, and some that need a segment of their own.
func randomSize(rnd *rand.Rand) int64 {
	edges := []int64{
		1, 511, 512, 513, 4096, 1 << 20, 1<<20 + 1, 2 << 20, 5 << 20, 10<<20 - 1,
		10 << 20, 10<<20 + 1, 20 << 20, 20<<20 + 1, 33 << 20, 768 * 4, 768 * 3072 * 4,
	}
	switch rnd.IntN(4) {
	case 0:
		return edges[rnd.IntN(len(edges))]
	case 1:
		return 1 + rnd.Int64N(24<<20)
	default:
		return 1 + rnd.Int64N(1<<(8+rnd.IntN(13)))
	}
}
