package category

import "github.com/memtop/memtop/snapshots/trace"

// The sizes of libraries' workspaces, in bytes: cuBLAS's, on Hopper too, and
// cublasLt's.
const (
	blasWorkspace   = 8_519_680
	hopperWorkspace = 32 << 20
	smallWorkspace  = 1 << 20
)

// isWorkspace recognises a library's workspace by its size: a thread makes it at
// its first matrix product, and it stays.
func (p *panel) isWorkspace(i int, e *trace.Event, at int) bool {
	if !isWorkspaceSize(e.Size) || p.life.Closed(i) != trace.Never {
		return false
	}
	switch p.makerOf(e.Stack) {
	case forwardMaker, operationMaker, backwardMaker, unknownMaker:
	default:
		return false
	}
	return e.Size == blasWorkspace || p.beside(i, blasWorkspace)
}

func isWorkspaceSize(bytes int64) bool {
	return bytes == blasWorkspace || bytes == hopperWorkspace || bytes == smallWorkspace
}

// beside reports whether an allocation of a size that is never freed was made
// around event i.
func (p *panel) beside(i int, size int64) bool {
	const reach = 8
	for k := max(0, i-reach); k < min(i+reach, p.events.Len()); k++ {
		if e := p.events.At(k); e.Kind == trace.Alloc && e.Size == size && p.life.Closed(k) == trace.Never {
			return true
		}
	}
	return false
}
