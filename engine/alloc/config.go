package alloc

import "github.com/memtop/memtop/snapshots/trace"

// config holds the settings of PYTORCH_CUDA_ALLOC_CONF. Sizes are in bytes.
type config struct {
	trace.Geometry        // blocks of MaxSplit and more are kept for requests of MaxSplit and more
	text           string // as last given
	maxNonSplit    int64  // how much larger than the request such a block may be
	gcThreshold    float64
	reserve        reserve // the addresses of an expandable segment
	rejects        bool    // requests beyond the device's memory fail before anything is freed
	releaseLock    bool    // unlock while the driver allocates
	fraction       float64 // of the device's memory, 0 when not set
	captureReuse   bool    // graph_capture_record_stream_reuse, which needs graphs
	pinnedThreads  int64   // these are about host memory, as are others that are not kept
	pinnedRegister bool
}

// reserve is an amount of addresses: a part of the device's memory, or a number of
// GiB. The zero value is 9/8 of the memory, and no other is more.
type reserve struct {
	value float64
	gib   bool
}

// of returns the bytes on a device with so much memory.
func (r reserve) of(total int64) int64 {
	unit, full := float64(total), total+total/8
	if r.gib {
		unit = 1 << 30
	}
	if bytes := r.value * unit; r.value > 0 && bytes < float64(full) {
		return int64(bytes)
	}
	return full
}

func defaultConfig() config {
	g := trace.NewGeometry(nil)
	return config{Geometry: g, maxNonSplit: g.LargeSegment, fraction: -1, pinnedThreads: 1}
}

// Configure changes the settings, in the syntax of PYTORCH_CUDA_ALLOC_CONF:
// "key:value,key:value". As in PyTorch, max_split_size_mb,
// garbage_collection_threshold and roundup_power2_divisions go back to their
// defaults when they are not mentioned, the others stay as they are.
//
//	max_split_size_mb:N             larger blocks are never split; N > 20
//	max_non_split_rounding_mb:N     by how much such a block may exceed a request; N > 20
//	garbage_collection_threshold:F  part of the limit above which old segments go back; 0 < F < 1
//	roundup_power2_divisions:N      or [256:N,512:N,>:N]: N is a power of two, per size in MiB
//	expandable_segments:True|False  one growing segment per stream and pool; needs a [Mapper]
//	expandable_segments_reserve:F   addresses of such a segment: a part of the memory, or 40G; ≤ 9/8
//	throw_on_cudamalloc_oom:True|False  beyond the device's memory fail before the cache is freed
//	large_segment_size_mb:N         instead of 20; N ≥ 10
//	per_process_memory_fraction:F   as [Allocator.SetFraction], at once; 0 ≤ F ≤ 1
//	release_lock_on_cudamalloc:True|False
//	backend:native
//	pinned_use_cuda_host_register, pinned_num_register_threads,
//	pinned_use_background_threads, pinned_reserve_segment_size_mb,
//	pinned_free_catch_all, pinned_max_round_threshold_mb, pinned_max_cached_size_mb,
//	graph_capture_record_stream_reuse: accepted, they are about other memory
//	expandable_segments_reserve_by_class:[C:F,...]: accepted; no stream has a class here
//
// It takes effect with the next request. An error is one line, and then
// nothing has changed. Safe for concurrent use.
func (a *Allocator) Configure(text string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, err := a.rules.parseConfig(a.config, text)
	if err != nil {
		return err
	}
	if c.Expandable && a.mapper == nil {
		return &ConfigError{Key: "expandable_segments", Reason: "this device cannot map memory"}
	}
	a.config = c
	a.stats.MaxSplitSize = c.MaxSplit
	if c.MaxSplit == trace.NoMaxSplit {
		a.stats.MaxSplitSize = -1
	}
	if c.fraction >= 0 {
		a.setFraction(c.fraction)
	}
	return nil
}

// Config returns the settings as they were last given to Configure. Safe for
// concurrent use.
func (a *Allocator) Config() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.config.text
}

// Expandable reports whether segments grow and shrink by pages. Safe for concurrent use.
func (a *Allocator) Expandable() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.config.Expandable
}
