package trace

// Recorder receives every event of an allocator at the moment it happens. A probe
// is one, and tests are others.
type Recorder interface {
	// Record is called with the allocator locked, events in the order of their
	// happening. It must return at once, must never block, and must not call
	// the allocator. Its stack, note and stream refer to the allocator's tables,
	// which may be asked for during the call. Several devices may call at the
	// same time.
	Record(device int, e Event)
}
