package mutate

import (
	"math/rand/v2"
	"slices"

	"github.com/memtop/memtop/snapshots/pytorch/pytorchtest"
)

func (t *tree) shuffleList(r *rand.Rand) bool {
	l := t.survey().list(r, 2)
	if l != nil {
		r.Shuffle(len(l.Items), func(i, j int) { l.Items[i], l.Items[j] = l.Items[j], l.Items[i] })
	}
	return l != nil
}

func (t *tree) reverseList(r *rand.Rand) bool {
	l := t.survey().list(r, 2)
	if l != nil {
		slices.Reverse(l.Items)
	}
	return l != nil
}

func (t *tree) dropItems(r *rand.Rand) bool {
	l := t.survey().list(r, 1)
	if l != nil {
		from := r.IntN(len(l.Items))
		l.Items = slices.Delete(l.Items, from, from+1+r.IntN(len(l.Items)-from))
	}
	return l != nil
}

// repeatItems puts some items in once more, or one of them very often: in a
// pickle that takes two bytes each.
func (t *tree) repeatItems(r *rand.Rand) bool {
	l := t.survey().list(r, 1)
	if l == nil {
		return false
	}
	from := r.IntN(len(l.Items))
	again := slices.Clone(l.Items[from : from+1+r.IntN(len(l.Items)-from)])
	if _, deep := again[0].(pytorchtest.Tuple); !deep && r.IntN(8) == 0 {
		again = slices.Repeat(again[:1], 1<<(4+r.IntN(14)))
	}
	l.Items = slices.Insert(l.Items, from, again...)
	return true
}

// splice puts a part of the tree in another place.
func (t *tree) splice(r *rand.Rand) bool {
	s := t.survey()
	part := choose(r, s.find(r, anything)).value
	if !t.cyclic && !isNumber(part) && !isText(part) {
		return false
	}
	if _, tuple := part.(pytorchtest.Tuple); tuple { // one that contained itself would have no end
		return false
	}
	choose(r, s.find(r, anything)).set(part)
	return true
}

// graft puts a part of another file in.
func (t *tree) graft(r *rand.Rand) bool {
	donor := tree{root: snapshot(r)}
	part := choose(r, donor.survey().find(r, anything)).value
	choose(r, t.survey().find(r, anything)).set(part)
	return true
}

// cycle puts a container in a place that may be within it.
func (t *tree) cycle(r *rand.Rand) bool {
	s := t.survey()
	if !t.cyclic || len(s.lists)+len(s.dicts) == 0 {
		return false
	}
	var container any
	if at := r.IntN(len(s.lists) + len(s.dicts)); at < len(s.lists) {
		container = s.lists[at]
	} else {
		container = s.dicts[at-len(s.lists)]
	}
	choose(r, s.find(r, anything)).set(container)
	return true
}
