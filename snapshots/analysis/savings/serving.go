package savings

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

func findCache(s *Scene) Saving {
	cache := func(p *Part) bool { return p.Category == trace.KVCache && s.of(p)&traits.Server == 0 }
	t := s.sum(cache)
	return Saving{
		Bytes: t.bytes, Reduction: fraction(cache, 1, 2), Stack: t.stack,
		Evidence: fmt.Sprintf("Keys and values of generation take %s%s, sized by the server's settings or the longest sequence", quantity.Bytes(t.bytes), s.at(t.stack)),
		Remedy:   "half as many bits for each, such as 8 instead of 16, take half",
	}
}

func findServerCache(s *Scene) Saving {
	cache := func(p *Part) bool { return p.Category == trace.KVCache && s.of(p)&traits.Server != 0 }
	t := s.sum(cache)
	return Saving{
		Bytes: t.bytes, Reduction: Reduction{Of: func(*Part) int64 { return 0 }}, Stack: t.stack,
		Evidence: fmt.Sprintf("The server's cache of keys and values takes %s%s: it fills the share of the GPU that it is given", quantity.Bytes(t.bytes), s.at(t.stack)),
		Remedy:   "gpu_memory_utilization (vLLM) or mem_fraction_static (SGLang) sets that share; a cache of 8 bits holds more tokens in the same memory",
	}
}

// smallWorkspace is what a workspace of cuBLAS has under CUBLAS_WORKSPACE_CONFIG=:4096:2.
const smallWorkspace = 8 << 20

func findWorkspaces(s *Scene) Saving {
	large := func(p *Part) bool { return p.Category == trace.Workspace && p.Size > smallWorkspace+smallWorkspace/8 }
	t := s.sum(large)
	if t.bytes < 64<<20 {
		return Saving{}
	}
	return Saving{
		Bytes: t.bytes, Reduction: Reduction{Of: func(p *Part) int64 {
			if large(p) {
				return p.Size - smallWorkspace
			}
			return 0
		}}, Stack: t.stack,
		Evidence: fmt.Sprintf("Libraries hold %s in %s%s, one for each thread and stream", quantity.Bytes(t.bytes), quantity.Plural(t.count, "workspace"), s.at(t.stack)),
		Remedy:   "CUBLAS_WORKSPACE_CONFIG=:4096:2 makes those of cuBLAS 8 MiB",
	}
}
