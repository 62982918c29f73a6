package export

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/trace"
)

// sample is memory of one kind.
type sample struct {
	kind
	bytes int64
	count int64
}

// kind is what the allocations of a sample have in common.
type kind struct {
	stack       trace.StackID
	category    trace.Category
	layer, role trace.StringID // as our own engine notes them
	unknown     bool           // from before recording; its stack is not known
}

// mostFrames bounds the frames of samples that only notes tell apart: a deep stack
// may have as many notes as it has allocations.
const mostFrames = 1 << 24

// noted returns the samples told apart by layer and role too, if these are few
// enough.
func (s snapshot) noted() []sample {
	all, frames := s.samples(true), 0
	for i := range all {
		frames += len(s.index.Trace().Tables.Stack(all[i].stack))
	}
	if frames > mostFrames {
		return s.samples(false)
	}
	return all
}

// samples groups the live memory at a moment, the largest sample first.
func (s snapshot) samples(noted bool) []sample {
	var all grouped.By[kind, sample]
	notes := s.index.Trace().Tables.Notes
	life := s.index.Lifetimes()
	life.Alive(s.event, func(id trace.AllocationID) bool {
		a := life.AllocationAt(id, s.event)
		note := &notes[a.Note]
		k := kind{stack: max(a.Stack, trace.EmptyStack)}
		if noted {
			k.layer, k.role = note.Layer, note.Role
		}
		k.category, _ = s.index.Category(a)
		if a.FreeStack || a.Open < 0 && k.stack == trace.EmptyStack {
			k.unknown, k.stack = true, 0
		}
		of := all.Of(k)
		*of = sample{k, of.bytes + a.Size, of.count + 1}
		return true
	})
	slices.SortFunc(all.List, func(a, b sample) int {
		return cmp.Or(
			cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.stack, b.stack), cmp.Compare(a.category, b.category),
			cmp.Compare(a.layer, b.layer), cmp.Compare(a.role, b.role),
		)
	})
	return all.List
}

// framesOf returns a stack as the options want it, innermost first. It is empty
// if no frame is known; [sample.named] then returns a name instead.
func framesOf(x *analysis.Index, stack trace.StackID, all bool) []trace.FrameID {
	switch {
	case stack <= trace.EmptyStack:
		return nil
	case all:
		return x.Trace().Tables.Stack(stack)
	default:
		return x.Told(stack)
	}
}

// named is the name of memory without a stack.
func (of *sample) named() string {
	if of.unknown {
		return analysis.HeldBefore
	}
	return analysis.NoStack
}

// deviceName names a device, as a root above its stacks.
func deviceName(x *analysis.Index) string { return "device " + strconv.Itoa(x.Device().ID) }

// functionName names the function of a frame for viewers that add up by function.
// A function of Python gets its file's name in front: every module of a network
// has a forward, and their sum says nothing. A frame without a function is named
// by its place.
func functionName(t *trace.Tables, id trace.FrameID) string {
	frame := t.Frames[id]
	name := t.String(frame.Name)
	if name == "" {
		return placeName(t, id)
	}
	file, python := strings.CutSuffix(t.String(frame.File), ".py")
	if !python {
		return label(name)
	}
	return label(file[strings.LastIndexAny(file, `/\`)+1:] + "." + name)
}

// placeName names a frame without a function.
func placeName(t *trace.Tables, id trace.FrameID) string {
	return label(strings.TrimSuffix(t.FrameText(id), " "))
}

// longest is how much of a name is written: names of templates and of hostile
// files can be of any length.
const longest = 500

// label returns text of a file printable and not too long.
func label(text string) string {
	return trace.Printable(trace.Shorten(text, longest))
}
