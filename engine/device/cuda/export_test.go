package cuda

import "slices"

// StandIn is a cuBLASLt of the tests at a path, as if it had been found.
type StandIn struct {
	Path    string
	Err     error            // why it does not load
	Fails   map[string]int32 // statuses of its entry points
	Refuses bool             // it has no algorithm
	// Captured, if it is not nil, reports whether a stream is captured: the library
	// then chooses no algorithm.
	Captured func() bool
	// Queue, if it is not nil, puts products into the queue of a stream.
	Queue func(stream uintptr, multiply func())
}

// Find looks for the library among stand-ins.
func (d *Device) Find(list ...StandIn) {
	var found []foundBLAS
	for _, s := range list {
		c := newColumns()
		c.fails, c.refuse, c.captured, c.queue = s.Fails, s.Refuses, s.Captured, s.Queue
		found = append(found, foundBLAS{s.Path, c, s.Err})
	}
	d.findBLAS(slices.Values(found))
}
