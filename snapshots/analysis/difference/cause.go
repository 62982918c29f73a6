package difference

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// CauseKind is a kind of cause; see "Causes" in the package comment.
type CauseKind uint8

// The kinds of causes.
const (
	Scaled      CauseKind = iota // the same allocations, larger or smaller by one factor
	Cast                         // copies that autocast made
	Moved                        // the same sizes, from other lines
	Recomputed                   // checkpointing makes them again on the other side, when they are needed
	OtherMoment                  // the other side has them at another moment of its step
	Appeared
	Vanished
)

// String returns the kind's name in JSON.
func (k CauseKind) String() string {
	return [...]string{"scaled", "cast", "moved", "recomputed", "other-moment", "appeared", "vanished"}[k]
}

// Cause is the cause of a part of a difference. Its Row counts the allocations
// before and after. The counts of Moved are equal.
type Cause struct {
	Kind     CauseKind
	Factor   Factor         // of Scaled
	Square   bool           // it is the square of another cause's factor
	Category trace.Category // of Appeared and Vanished
	Row      Row
	Lines    []Row                       // that they are from, the largest change first
	lines    map[place]*Row              // by place without casts
	types    [2]map[trace.StringID]int64 // bytes by element type, where it was noted
}

// Causes divides the allocations of both sides into causes, the largest change
// first. Allocations that did not change have no cause. The sum of the changes is
// the difference.
func (d *Difference) Causes() []Cause {
	c := causes{d: d, piles: make(map[place]*pile), found: make(map[causeKey]*Cause)}
	c.divide()
	c.scale()
	c.takeCasts()
	c.pairMoved()
	c.findElsewhere()
	c.takeRest()
	return c.sorted()
}

type causeKey struct {
	kind     CauseKind
	factor   Factor
	category trace.Category
}

type causes struct {
	d       *Difference
	piles   map[place]*pile
	order   []*pile
	found   map[causeKey]*Cause
	factors []Factor // that were found, the largest change first
}

func (c *causes) divide() {
	for side, blocks := range c.d.blocks {
		for i := range blocks {
			b := &blocks[i]
			p := c.pile(c.d.Merged.placeOf(b.stack, b.note))
			p.left[side][b.size] = append(p.left[side][b.size], b)
			p.held[side]++
		}
	}
}

func (c *causes) pile(at place) *pile {
	p := c.piles[at]
	if p == nil {
		p = &pile{place: at, left: [2]map[int64][]*block{{}, {}}}
		c.piles[at] = p
		c.order = append(c.order, p)
	}
	return p
}

// note adds allocations of a place to a cause.
func (c *causes) note(k causeKey, at place, side int, blocks []*block) {
	if len(blocks) == 0 {
		return
	}
	cause := c.found[k]
	if cause == nil {
		cause = &Cause{Kind: k.kind, Factor: k.factor, Category: k.category, lines: make(map[place]*Row), types: [2]map[trace.StringID]int64{{}, {}}}
		c.found[k] = cause
	}
	at.cast = false
	line := cause.lines[at]
	if line == nil {
		line = &Row{Name: c.d.Merged.lineName(at.line, at.held), Frame: at.line, Own: c.d.Merged.code.Own(at.line)}
		cause.lines[at] = line
	}
	for _, b := range blocks {
		cause.Row.add(side, b.size)
		line.add(side, b.size)
		cause.types[side][c.d.typeOf(b)] += b.size
	}
}

func (c *causes) takeCasts() {
	for _, p := range c.order {
		if p.cast {
			c.takeAll(p, func(int, *block) causeKey { return causeKey{kind: Cast} })
		}
	}
}

func (c *causes) takeRest() {
	for _, p := range c.order {
		c.takeAll(p, func(side int, b *block) causeKey {
			return causeKey{kind: [2]CauseKind{Vanished, Appeared}[side], category: b.category}
		})
	}
}

func (c *causes) takeAll(p *pile, key func(side int, b *block) causeKey) {
	for side := range p.left {
		for _, size := range p.sizes(side) {
			for _, b := range p.take(side, size, len(p.left[side][size])) {
				c.note(key(side, b), p.place, side, []*block{b})
			}
		}
	}
}

// pairMoved pairs allocations of lines that only one side has by their sizes.
func (c *causes) pairMoved() {
	appeared := make(map[int64][]*pile)
	for _, p := range c.order {
		if p.held[0] == 0 {
			for _, size := range p.sizes(1) {
				appeared[size] = append(appeared[size], p)
			}
		}
	}
	for _, p := range c.order {
		if p.held[1] > 0 {
			continue
		}
		for _, size := range p.sizes(0) {
			for _, other := range appeared[size] {
				n := min(len(p.left[0][size]), len(other.left[1][size]))
				c.note(causeKey{kind: Moved}, p.place, 0, p.take(0, size, n))
				c.note(causeKey{kind: Moved}, other.place, 1, other.take(1, size, n))
			}
		}
	}
}

func (c *causes) sorted() []Cause {
	all := make([]Cause, 0, len(c.found))
	for _, cause := range c.found {
		for _, line := range cause.lines {
			cause.Lines = append(cause.Lines, *line)
		}
		slices.SortFunc(cause.Lines, func(a, b Row) int {
			return cmp.Or(cmp.Compare(magnitude(b.Delta()), magnitude(a.Delta())), cmp.Compare(b.Bytes[0]+b.Bytes[1], a.Bytes[0]+a.Bytes[1]), cmp.Compare(a.Frame, b.Frame))
		})
		f := cause.Factor
		cause.Square = cause.Kind == Scaled && slices.ContainsFunc(c.factors, func(g Factor) bool { return g.Times*g.Times == f.Times && g.Over*g.Over == f.Over })
		all = append(all, *cause)
	}
	slices.SortFunc(all, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(magnitude(b.Row.Delta()), magnitude(a.Row.Delta())), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Category, b.Category), cmp.Compare(a.Factor.Times, b.Factor.Times), cmp.Compare(a.Factor.Over, b.Factor.Over))
	})
	return all
}
