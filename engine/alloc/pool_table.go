package alloc

import (
	"iter"
	"math/bits"
)

// poolTable holds private pools in the order in which PyTorch goes through them: that
// of its hash table. A pool's place depends on its number, and on those that were
// there before it.
//
// Source: flat_hash_map.h. A key's home is the upper bits of its product with a
// constant, and at most half of the homes are taken. A key that finds a slot taken
// goes on to the next, and takes it from a key that is nearer to its own home. What
// is removed is filled from behind. (PyTorch also doubles a table in which a key is four
// slots from its home. Pools are numbered one by one, and so never are.)
type poolTable struct {
	slots []slot // the homes, and behind them room for what goes on
	homes int    // a power of two
	count int
}

// slot is a place. It is empty without a pool.
type slot struct {
	pool *privatePool
	away int // from the pool's home
}

// homeFactor is 2⁶⁴ divided by the golden ratio.
const homeFactor = 11400714819323198485

// add puts a pool in that is not in the table.
func (t *poolTable) add(p *privatePool) {
	if 2*(t.count+1) > t.homes {
		t.double()
	}
	t.count++
	at, s := t.home(p), slot{pool: p}
	for ; t.slots[at].pool != nil; at++ {
		if t.slots[at].away < s.away {
			s, t.slots[at] = t.slots[at], s
		}
		s.away++
	}
	t.slots[at] = s
}

func (t *poolTable) home(p *privatePool) int {
	key := p.id[0]
	if key == 0 {
		key = p.id[1]
	}
	return int(uint64(key) * homeFactor >> (65 - bits.Len(uint(t.homes))))
}

func (t *poolTable) double() {
	old := t.slots
	t.homes, t.count = max(4, 2*t.homes), 0
	t.slots = make([]slot, 2*t.homes)
	for _, s := range old {
		if s.pool != nil {
			t.add(s.pool)
		}
	}
}

// all goes through the pools. The table must not change meanwhile.
func (t *poolTable) all() iter.Seq[*privatePool] {
	return func(yield func(*privatePool) bool) {
		for _, s := range t.slots {
			if s.pool != nil && !yield(s.pool) {
				return
			}
		}
	}
}

// remove takes a pool out. It changes nothing if the pool is not in the table.
func (t *poolTable) remove(p *privatePool) {
	for at := range t.slots {
		if t.slots[at].pool == p {
			t.removeAt(at)
			return
		}
	}
}

func (t *poolTable) removeAt(at int) {
	for ; t.slots[at+1].away > 0; at++ {
		t.slots[at] = slot{t.slots[at+1].pool, t.slots[at+1].away - 1}
	}
	t.slots[at] = slot{}
	t.count--
}

// removeIf calls f for each pool in order, and takes those out for which it is true.
func (t *poolTable) removeIf(f func(*privatePool) bool) {
	for at := 0; at < len(t.slots); {
		if p := t.slots[at].pool; p != nil && f(p) {
			t.removeAt(at) // the next one may be there now
			continue
		}
		at++
	}
}
