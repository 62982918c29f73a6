package savings

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

// Words knows the meaning of the names of a trace's frames and roles. It is owned
// by one goroutine while it reads; in between, any number of scenes may ask it.
type Words struct {
	frames, stacks, notes []traits.Set            // by frame, stack and note
	within                []function              // by stack, the innermost function outside of PyTorch
	does                  map[function]traits.Set // what the functions call of PyTorch's
	all                   traits.Set              // of all frames
}

// function is one of the program's or of a library, as the line of another calls it: methods of a name stand in one file.
type function struct {
	file, name trace.StringID
	caller     trace.FrameID
}

// attends reports whether a stack is of a function that takes a softmax beside products of many matrices at once:
// attention by hand, whatever its name is.
func (w *Words) attends(stack trace.StackID) bool {
	return w.does[w.within[stack]]&(traits.Softmax|traits.Product) == traits.Softmax|traits.Product && w.stacks[stack]&traits.Loss == 0
}

// readFunction notes what the innermost function outside of PyTorch calls of it.
func (w *Words) readFunction(t *trace.Tables, stack trace.StackID) {
	var calls traits.Set
	var in function
	for _, frame := range t.Stack(stack) {
		f := &t.Frames[frame]
		file := lines.Slashed(t.String(f.File))
		switch outside := lines.IsPython(file) && !strings.Contains(file, "/torch/"); {
		case in.caller != 0:
		case outside && in.file != 0:
			in.caller = frame
		case outside:
			in.file, in.name = f.File, f.Name
		case in.file == 0:
			calls |= w.frames[frame] & (traits.Softmax | traits.Product)
		}
	}
	if in.file != 0 {
		w.does[in] |= calls
	}
	w.within = append(w.within, in)
}

// Read judges the stacks and notes that are new in longer tables of the same trace, of whose frames the traits are known.
func (w *Words) Read(t *trace.Tables, frames []traits.Set) {
	if w.does == nil {
		w.does = make(map[function]traits.Set)
	}
	for _, is := range frames[len(w.frames):] {
		w.all |= is
	}
	w.frames = frames
	for id := len(w.stacks); id < t.StackCount(); id++ {
		var all traits.Set
		for _, frame := range t.Stack(trace.StackID(id)) {
			all |= w.frames[frame]
		}
		w.stacks = append(w.stacks, all)
		w.readFunction(t, trace.StackID(id))
	}
	for id := len(w.notes); id < len(t.Notes); id++ {
		w.notes = append(w.notes, traits.Of("", t.String(t.Notes[id].Role)))
	}
}

// Serves reports whether a server of language models is on any stack.
func (w *Words) Serves() bool { return w.all&traits.Server != 0 }
