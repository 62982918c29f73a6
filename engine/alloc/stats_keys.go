package alloc

// pooled and oversize are the counters as memory_stats() names them.
var pooled = []struct {
	key string
	of  func(*Stats) *PoolCounter
}{
	{"active", func(s *Stats) *PoolCounter { return &s.Active }},
	{"active_bytes", func(s *Stats) *PoolCounter { return &s.ActiveBytes }},
	{"allocated_bytes", func(s *Stats) *PoolCounter { return &s.AllocatedBytes }},
	{"allocation", func(s *Stats) *PoolCounter { return &s.Allocation }},
	{"inactive_split", func(s *Stats) *PoolCounter { return &s.InactiveSplit }},
	{"inactive_split_bytes", func(s *Stats) *PoolCounter { return &s.InactiveSplitBytes }},
	{"requested_bytes", func(s *Stats) *PoolCounter { return &s.RequestedBytes }},
	{"reserved_bytes", func(s *Stats) *PoolCounter { return &s.ReservedBytes }},
	{"segment", func(s *Stats) *PoolCounter { return &s.Segment }},
}

var oversize = []struct {
	key string
	of  func(*Stats) *Counter
}{
	{"oversize_allocations", func(s *Stats) *Counter { return &s.OversizeAllocations }},
	{"oversize_segments", func(s *Stats) *Counter { return &s.OversizeSegments }},
}

// Map returns every key of torch.cuda.memory_stats() with its value: counters
// as "allocated_bytes.large_pool.peak", counts as "num_ooms".
func (s *Stats) Map() map[string]int64 {
	m := map[string]int64{
		"num_alloc_retries":    s.AllocRetries,
		"num_ooms":             s.OOMs,
		"num_sync_all_streams": s.SyncAllStreams,
		"num_device_alloc":     s.DeviceAllocs,
		"num_device_free":      s.DeviceFrees,
		"max_split_size":       s.MaxSplitSize,
	}
	for i := range pooled {
		c, key := pooled[i].of(s), pooled[i].key
		c.All.into(m, key+".all")
		c.Small().into(m, key+".small_pool")
		c.Large().into(m, key+".large_pool")
	}
	for i := range oversize {
		oversize[i].of(s).into(m, oversize[i].key)
	}
	return m
}

func (c *Counter) into(m map[string]int64, key string) {
	m[key+".current"], m[key+".peak"] = c.Current, c.Peak
	m[key+".allocated"], m[key+".freed"] = c.Allocated, c.Freed
}
