package alloc

import (
	"runtime"
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestStacksAreThoseOfTheRuntime asks for the stack of the same place twice,
// when it is new and when it is known, and compares with the runtime's answer.
func TestStacksAreThoseOfTheRuntime(t *testing.T) {
	a := newAllocator(t, newMemory(t, gib), Options{History: 1, Stacks: true})
	here := func() { compareStack(t, a) }
	for range 2 {
		for name, call := range map[string]func(){
			"straight":    here,
			"inlined":     func() { inlined(here) },
			"deep":        func() { deeper(20, here) },
			"deeper":      func() { deeper(21, here) },
			"too deep":    func() { deeper(3*maxFrames, here) },
			"deferred":    func() { defer here() },
			"in a sort":   func() { slices.SortFunc([]int{2, 1}, func(a, b int) int { here(); return a - b }) },
			"a panic":     func() { defer func() { _ = recover(); here() }(); panic("on the way") },
			"a goroutine": func() { done := make(chan struct{}); go func() { defer close(done); here() }(); <-done },
		} {
			t.Run(name, func(*testing.T) { call() })
		}
	}
}

func inlined(f func()) { f() }

//go:noinline
func deeper(n int, f func()) {
	if n%2 == 0 {
		defer runtime.KeepAlive(n) // frames of two sizes
	}
	if n == 0 {
		f()
		return
	}
	deeper(n-1, f)
}

// compareStack allocates, and compares the functions of the recorded stack with
// those the runtime knows of.
//
//go:noinline
func compareStack(t *testing.T, a *Allocator) {
	t.Helper()
	b, err := a.Alloc(512, 0, Tag{})
	fatal.If(t, err)
	a.Free(b)
	var got, want []string
	tables := a.Names().Tables()
	for _, id := range tables.Stack(a.latestStack()) {
		got = append(got, tables.String(tables.Frames[id].Name))
	}
	var pcs [maxFrames]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		want = append(want, f.Function)
	}
	n := min(len(got), len(want))
	if len(want) < maxFrames && len(got) != len(want) {
		t.Errorf("got %d frames, want %d", len(got), len(want))
	}
	equal.Values(t, "the result", want[:n], got[:n])
}

// latestStack returns the stack of the event recorded last.
func (a *Allocator) latestStack() trace.StackID { return a.history.events[0].Stack }

// PoolBlocks returns the addresses of the blocks handed out of a private pool,
// ascending. Safe for concurrent use.
func (a *Allocator) PoolBlocks(id trace.Pool) []uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var addrs []uint64
	for _, s := range a.segments {
		for b := s.first; b != nil; b = b.next {
			if b.allocated() && b.set.pool.id() == id {
				addrs = append(addrs, b.addr)
			}
		}
	}
	return addrs
}

// Size returns how many bytes the block occupies, at least what was requested.
func (b Allocation) Size() int64 {
	if b.b == nil {
		return 0
	}
	return b.live("Size of").size
}

// Stream returns the stream that the block was allocated for.
func (b Allocation) Stream() Stream {
	if b.b == nil {
		return 0
	}
	return b.live("Stream of").set.stream.handle
}
