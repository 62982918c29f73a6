package mutate

import (
	"math/rand/v2"

	"github.com/memtop/memtop/snapshots/pytorch/pytorchtest"
	"github.com/memtop/memtop/snapshots/trace"
)

// original returns a small consistent trace.
func original(r *rand.Rand) *trace.Trace {
	if r.IntN(12) == 0 {
		return pytorchtest.TinyTraining()
	}
	t := pytorchtest.Random(pytorchtest.Options{
		Seed: r.Uint64(), Devices: choose(r, []int{1, 1, 1, 2, 3}), Operations: choose(r, []int{4, 20, 60, 150}),
		Expandable: r.IntN(3) == 0, FreeSites: r.IntN(3) == 0, Ring: choose(r, []int{0, 0, 0, 10}),
	})
	if r.IntN(3) == 0 {
		tag(r, t)
	}
	return t
}

// tag makes the trace one of our own engine's: what memory is for stands at its
// events and blocks.
func tag(r *rand.Rand, t *trace.Trace) {
	text := func(from ...string) trace.StringID {
		t.Tables.Strings = append(t.Tables.Strings, choose(r, from))
		return trace.StringID(len(t.Tables.Strings) - 1)
	}
	for i := range t.Tables.Notes {
		n := &t.Tables.Notes[i]
		n.Category = text("parameter", "gradient", "optimizer", "activation", "backward-temporary", "input", "kv-cache", "workspace", "inference", "other")
		n.Layer = text("", "blocks.0.attn", "blocks.1.mlp.up", "head")
		n.Role, n.Shape, n.DType = text("weight", "saved", "output"), text("[4, 64]"), text("bf16")
	}
	for _, d := range t.Devices {
		for _, s := range d.Final.Segments {
			for i := range s.Blocks {
				s.Blocks[i].Note = trace.NoteID(r.IntN(len(t.Tables.Notes)))
			}
		}
	}
}

// snapshot returns the Python value of a trace in the layout of some version.
func snapshot(r *rand.Rand) any {
	return pytorchtest.Value(choose(r, pytorchtest.Layouts).Strip(original(r)))
}

// newPickle returns a snapshot as one of the picklers writes it.
func newPickle(r *rand.Rand) document {
	root := snapshot(r)
	switch writer := r.IntN(8); {
	case writer < 6:
		return &tree{root: root, cyclic: true, write: func(v any) []byte { return pytorchtest.PythonPickle(v, writer) }}
	default:
		return &tree{root: root, write: func(v any) []byte { return pytorchtest.CPPPickle(v, writer == 7) }}
	}
}

func newJSON(r *rand.Rand) document { return &tree{root: snapshot(r), cyclic: true, write: writeJSON} }
