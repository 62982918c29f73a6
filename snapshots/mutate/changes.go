package mutate

import (
	"math/rand/v2"
	"slices"

	"github.com/memtop/memtop/snapshots/pytorch/pytorchtest"
)

type treeChange struct {
	name string
	do   func(*tree, *rand.Rand) bool
}

var treeChanges = []treeChange{
	{"number", changed(isNumber, func(r *rand.Rand, v any) any { return number(r, v) }, 1)},
	{"numbers", changed(isNumber, func(r *rand.Rand, v any) any { return number(r, v) }, 1<<20)},
	{"text", changed(isText, func(r *rand.Rand, _ any) any { return text(r) }, 1)},
	{"texts", changed(isText, func(r *rand.Rand, _ any) any { return text(r) }, 1<<20)},
	{"type", changed(anything, func(r *rand.Rand, _ any) any { return other(r) }, 1)},
	{"types", changed(anything, func(r *rand.Rand, _ any) any { return other(r) }, 8)},
	{"nest", changed(anything, nest, 1)},
	{"frame", (*tree).frame},
	{"frames", (*tree).frames},
	{"rename a key", (*tree).renameKey},
	{"odd key", (*tree).oddKey},
	{"swap keys", (*tree).swapKeys},
	{"duplicate a key", (*tree).duplicateKey},
	{"drop a key", (*tree).dropKey},
	{"shuffle keys", (*tree).shuffleKeys},
	{"shuffle a list", (*tree).shuffleList},
	{"reverse a list", (*tree).reverseList},
	{"drop items", (*tree).dropItems},
	{"repeat items", (*tree).repeatItems},
	{"splice", (*tree).splice},
	{"graft", (*tree).graft},
	{"cycle", (*tree).cycle},
}

// changed returns a change that replaces up to so many of the values that
// stand under one key.
func changed(fits func(any) bool, by func(*rand.Rand, any) any, most int) func(*tree, *rand.Rand) bool {
	return func(t *tree, r *rand.Rand) bool {
		found := t.survey().find(r, fits)
		r.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
		for _, p := range found[:min(most, len(found))] {
			p.set(by(r, p.value))
		}
		return found != nil
	}
}

// isFrame reports whether a dict is a line of a stack.
func isFrame(d *pytorchtest.Dict) bool {
	return slices.ContainsFunc(d.Items, func(i pytorchtest.Item) bool { return i.Key == "filename" })
}

func (t *tree) frame(r *rand.Rand) bool {
	d := t.survey().dict(r, isFrame)
	if d != nil {
		disguise(r, d)
	}
	return d != nil
}

func (t *tree) frames(r *rand.Rand) bool {
	found := false
	for _, d := range t.survey().dicts {
		if isFrame(d) {
			disguise(r, d)
			found = true
		}
	}
	return found
}

// disguise makes a frame another one, of any shape that a file may have.
func disguise(r *rand.Rand, d *pytorchtest.Dict) {
	d.Items = []pytorchtest.Item{
		{Key: "name", Value: functionName(r)},
		{Key: "filename", Value: choose(r, fileNames)},
		{Key: "line", Value: choose(r, []int64{0, 0, 0, 1, 17, -1, 1 << 31, 1 << 40})},
	}
}

func full(d *pytorchtest.Dict) bool { return len(d.Items) > 0 }

func (t *tree) renameKey(r *rand.Rand) bool {
	s := t.survey()
	d := s.dict(r, full)
	if d == nil {
		return false
	}
	names := append(slices.Clone(s.keys), text(r))
	d.Items[r.IntN(len(d.Items))].Key = choose(r, names)
	return true
}

func (t *tree) oddKey(r *rand.Rand) bool {
	d := t.survey().dict(r, full)
	if d != nil {
		d.Items[r.IntN(len(d.Items))].Key = other(r)
	}
	return d != nil
}

func (t *tree) swapKeys(r *rand.Rand) bool {
	d := t.survey().dict(r, func(d *pytorchtest.Dict) bool { return len(d.Items) > 1 })
	if d == nil {
		return false
	}
	i, j := r.IntN(len(d.Items)), r.IntN(len(d.Items))
	d.Items[i].Key, d.Items[j].Key = d.Items[j].Key, d.Items[i].Key
	return true
}

func (t *tree) duplicateKey(r *rand.Rand) bool {
	d := t.survey().dict(r, full)
	if d == nil {
		return false
	}
	again := choose(r, d.Items)
	if r.IntN(2) == 0 {
		again.Value = other(r)
	}
	d.Items = append(d.Items, again)
	return true
}

func (t *tree) dropKey(r *rand.Rand) bool {
	d := t.survey().dict(r, full)
	if d != nil {
		at := r.IntN(len(d.Items))
		d.Items = slices.Delete(d.Items, at, at+1)
	}
	return d != nil
}

func (t *tree) shuffleKeys(r *rand.Rand) bool {
	shuffle := pytorchtest.Shuffle(r.Uint64())
	for _, d := range t.survey().dicts {
		d.Items = shuffle(d.Items)
	}
	return true
}
