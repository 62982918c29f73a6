package difference

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

// Factor is the factor by which sizes grew: Times divided by Over, in lowest
// terms. The zero value is no factor.
type Factor struct{ Times, Over int64 }

// String returns the factor as people write it.
func (f Factor) String() string {
	if f.Over == 1 {
		return fmt.Sprint(f.Times)
	}
	return fmt.Sprintf("%d/%d", f.Times, f.Over)
}

// largestTerm bounds the terms of a factor: with larger ones any two sizes have one.
const largestTerm = 64

// factorOf returns the factor between two sizes, and whether it is one.
func factorOf(before, after int64) (Factor, bool) {
	if before <= 0 || after <= 0 || before == after {
		return Factor{}, false
	}
	a, b := after, before
	for b != 0 {
		a, b = b, a%b
	}
	f := Factor{after / a, before / a}
	return f, f.Times <= largestTerm && f.Over <= largestTerm
}

// of returns the size times the factor, and whether that is whole.
func (f Factor) of(size int64) (int64, bool) {
	return size / f.Over * f.Times, size%f.Over == 0
}

// ofTypes are the factors between element types.
var ofTypes = [...]Factor{{1, 2}, {2, 1}}

// scale finds the factors and takes what they explain.
func (c *causes) scale() {
	fits, change := make(map[Factor]int), make(map[Factor]int64)
	whole := make(map[*pile]Factor)
	for _, p := range c.order {
		if f, ok := p.factor(); ok {
			whole[p] = f
			fits[f] += p.held[0]
			change[f] += magnitude(p.bytes(1) - p.bytes(0))
		} else {
			p.cancel()
		}
	}
	typed := c.d.otherTypes()
	for f, n := range fits {
		if n > 1 || typed && slices.Contains(ofTypes[:], f) {
			c.factors = append(c.factors, f)
		}
	}
	slices.SortFunc(c.factors, func(a, b Factor) int {
		return cmp.Or(cmp.Compare(change[b], change[a]), cmp.Compare(a.Times, b.Times), cmp.Compare(a.Over, b.Over))
	})
	for _, f := range ofTypes {
		if typed && !slices.Contains(c.factors, f) {
			c.factors = append(c.factors, f)
		}
	}
	for _, p := range c.order {
		if f, ok := whole[p]; ok {
			c.takeScaled(p, f)
		}
		for _, f := range c.factors {
			c.takeScaled(p, f)
		}
	}
}

// otherTypes reports whether one side has element types that the other lacks, as far as
// that was noted, or runs autocast, which the other does not.
func (d *Difference) otherTypes() bool {
	var has [2]map[trace.StringID]bool
	for side, blocks := range d.blocks {
		has[side] = make(map[trace.StringID]bool)
		for i := range blocks {
			has[side][d.typeOf(&blocks[i])] = true
		}
	}
	return (d.traits[0]^d.traits[1])&traits.Autocast != 0 || !maps.Equal(has[0], has[1])
}

func (c *causes) takeScaled(p *pile, f Factor) {
	if !slices.Contains(c.factors, f) {
		p.cancel()
		return
	}
	for _, size := range p.sizes(0) {
		if scaled, ok := f.of(size); ok {
			n := min(len(p.left[0][size]), len(p.left[1][scaled]))
			c.note(causeKey{kind: Scaled, factor: f}, p.place, 0, p.take(0, size, n))
			c.note(causeKey{kind: Scaled, factor: f}, p.place, 1, p.take(1, scaled, n))
		}
	}
}
