package category

import "github.com/memtop/memtop/snapshots/trace"

// blasWorkspace is the size of cuBLAS's workspace, in bytes, but on Hopper: no tensor happens to have it.
const blasWorkspace = 8_519_680

// isWorkspace recognises cuBLAS's workspace: a thread makes it at its first matrix product, and it stays.
func (p *panel) isWorkspace(i int, e *trace.Event) bool {
	if e.Size != blasWorkspace || p.life.Closed(i) != trace.Never {
		return false
	}
	switch p.makerOf(e.Stack) {
	case forwardMaker, operationMaker, backwardMaker, unknownMaker:
		return true
	}
	return false
}
