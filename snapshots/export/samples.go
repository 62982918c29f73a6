package export

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
)

// sample is memory that one stack holds, of one category.
type sample struct {
	stack    trace.StackID
	category analysis.Category
	unknown  bool // from before recording; nobody knows its stack
	bytes    int64
	count    int64
}

// samples groups what is alive at a moment, the largest first.
func (s snapshot) samples() []sample {
	type key struct {
		stack    trace.StackID
		category analysis.Category
		unknown  bool
	}
	at := make(map[key]int)
	var all []sample
	life := s.index.Lifetimes()
	life.Alive(s.event, func(id trace.AllocationID) bool {
		a := life.AllocationAt(id, s.event)
		k := key{stack: max(a.Stack, trace.EmptyStack)}
		k.category, _ = s.index.Category(a)
		if a.FreeStack || a.Open < 0 && k.stack == trace.EmptyStack {
			k.unknown, k.stack = true, 0
		}
		i, ok := at[k]
		if !ok {
			i = len(all)
			at[k] = i
			all = append(all, sample{stack: k.stack, category: k.category, unknown: k.unknown})
		}
		all[i].bytes += a.Size
		all[i].count++
		return true
	})
	slices.SortFunc(all, func(a, b sample) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.stack, b.stack), cmp.Compare(a.category, b.category))
	})
	return all
}

// frames returns the sample's stack as the options want it, innermost first. It
// is empty where nothing is known; named then says what stands for it.
func (s snapshot) frames(of *sample, all bool) []trace.FrameID {
	switch {
	case of.stack <= trace.EmptyStack:
		return nil
	case all:
		return s.index.Trace().Tables.Stack(of.stack)
	default:
		return s.index.Told(of.stack)
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
		return label(t.FrameText(id))
	}
	file, python := strings.CutSuffix(t.String(frame.File), ".py")
	if !python {
		return label(name)
	}
	return label(file[strings.LastIndexAny(file, `/\`)+1:] + "." + name)
}

// longest is how much of a name is written: names of templates and of hostile
// files can be of any length.
const longest = 500

// label returns text of a file printable and not too long.
func label(text string) string {
	if len(text) > longest {
		text = cutRunes(text, longest) + "…"
	}
	return trace.Printable(text)
}

// cutRunes returns the first n bytes of text, or up to three fewer so that no
// character is cut in two.
func cutRunes(text string, n int) string {
	for back := 0; back < 4 && n > 0 && text[n]&0xc0 == 0x80; back++ {
		n--
	}
	return text[:n]
}
