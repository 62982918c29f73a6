package alloc

import (
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// Settings returns the settings in force, as PyTorch 2.10 writes them into a
// snapshot. Safe for concurrent use.
func (a *Allocator) Settings() []trace.Setting {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &a.config
	divisions := make([]trace.Setting, len(c.Divisions))
	for i, n := range c.Divisions {
		divisions[i] = trace.Setting{Key: strconv.Itoa(1 << i), Value: n}
	}
	return []trace.Setting{
		{Key: "PYTORCH_CUDA_ALLOC_CONF", Value: c.text},
		{Key: "max_split_size", Value: a.stats.MaxSplitSize},
		{Key: "garbage_collection_threshold", Value: c.gcThreshold},
		{Key: "expandable_segments", Value: c.Expandable},
		{Key: "pinned_num_register_threads", Value: c.pinnedThreads},
		{Key: "release_lock_on_cudamalloc", Value: c.releaseLock},
		{Key: "pinned_use_cuda_host_register", Value: c.pinnedRegister},
		{Key: "graph_capture_record_stream_reuse", Value: c.captureReuse},
		{Key: "roundup_power2_divisions", Value: divisions},
	}
}
