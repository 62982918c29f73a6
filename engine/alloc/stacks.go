package alloc

import (
	"runtime"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// SetStacks says whether allocations get the Go stack that caused them from now on.
// The segments made for them, and their frees, have the same stack. A stack that was
// seen before costs a fraction of a microsecond on amd64, some microseconds elsewhere.
// Safe for concurrent use.
func (a *Allocator) SetStacks(on bool) { a.stacks.Store(on) }

// maxFrames is how many frames of a stack are kept, the innermost first.
const maxFrames = 48

type stackKey [maxFrames]uintptr

// callers returns the stack of the call into this package, 0 when stacks are off.
func (a *Allocator) callers() trace.StackID {
	if !a.stacks.Load() {
		return 0
	}
	return a.stack()
}

// stack returns the stack of a call. Training makes the same calls in every step, so
// stack recognises one by its return addresses, and unwinds it only the first time.
func (a *Allocator) stack() trace.StackID {
	if !walks {
		return a.unwind(5)
	}
	var at stackKey
	returns(&at)
	id, ok := a.names.returning(&at)
	if !ok {
		id = a.unwind(5)
		a.names.returns(&at, id)
	}
	return id
}

// unwind returns the stack without its innermost frames.
func (a *Allocator) unwind(skip int) trace.StackID {
	var pcs stackKey
	runtime.Callers(skip, pcs[:])
	return a.names.stack(&pcs)
}

// returning returns the known stack with those return addresses, if any.
func (n *Names) returning(at *stackKey) (id trace.StackID, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id, ok = n.known[*at]; !ok && n.full {
		return n.in.Rest().Stack, true
	}
	return id, ok
}

func (n *Names) returns(at *stackKey, id trace.StackID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.full {
		n.known[*at] = id
	}
}

// stack interns a stack. A known stack makes no garbage.
func (n *Names) stack(pcs *stackKey) trace.StackID {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.stacks[*pcs]
	switch {
	case ok:
		return id
	case !n.in.Take(stackBytes):
		n.full = true
		return n.in.Rest().Stack
	}
	return n.newStack(*pcs)
}

// newStack looks up the frames of a new stack.
func (n *Names) newStack(pcs stackKey) trace.StackID {
	used := 0
	for used < maxFrames && pcs[used] != 0 {
		used++
	}
	var ids []trace.FrameID
	for frames, more := runtime.CallersFrames(pcs[:used]), used > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if len(ids) == 0 && more && n.hides(f.Function) {
			continue
		}
		ids = append(ids, n.in.Frame(trace.Frame{
			File: n.in.String(f.File), Name: n.in.String(f.Function), Line: int32(f.Line),
		}))
	}
	id := n.in.Stack(ids)
	n.stacks[pcs] = id
	return id
}

// hide removes the functions whose names have that prefix from the inner end of
// new stacks.
func (n *Names) hide(beginning string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.hidden, beginning) {
		n.hidden = append(n.hidden, beginning)
	}
}

func (n *Names) hides(function string) bool {
	return slices.ContainsFunc(n.hidden, func(p string) bool { return strings.HasPrefix(function, p) })
}
