package trace

// Recorder receives every event of an allocator at the moment it happens. A probe
// is a recorder, and tests have others.
type Recorder interface {
	// The allocator calls Record while it is locked, in the order of the events.
	// Record must return at once, must never block, and must not call the
	// allocator. The stack, note and stream of e refer to the allocator's tables,
	// and Record may read those during the call. Several devices may call at the
	// same time.
	Record(device int, e Event)
}
