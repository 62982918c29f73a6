package tensor

// # Measuring peaks
//
// The device counts requested bytes as they come and go, so that the highest
// level within any stretch of the program is known without touching the
// allocator's own statistics, which belong to the user. Stretches nest: the
// highest level of an inner one is also reached in the outer one.

// scope is the innermost open stretch.
type scope struct {
	live, peak int64
	outer      []int64 // peaks of the stretches around this one
}

func (s *scope) grow(n int64) {
	s.live += n
	s.peak = max(s.peak, s.live)
}

// Live returns the requested bytes of all storages.
func (d *Device) Live() int64 { return d.scope.live }

// Enter begins a stretch, of which [Device.Leave] returns the peak.
func (d *Device) Enter() {
	d.scope.outer = append(d.scope.outer, d.scope.peak)
	d.scope.peak = d.scope.live
}

// Leave ends the innermost stretch and returns the highest level of requested
// bytes within it.
func (d *Device) Leave() (peak int64) {
	s := &d.scope
	peak = s.peak
	last := len(s.outer) - 1
	s.peak = max(peak, s.outer[last])
	s.outer = s.outer[:last]
	return peak
}
