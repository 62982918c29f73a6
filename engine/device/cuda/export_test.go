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
	// Candidates are its algorithms, the first that it expects to be fastest; none are
	// one. Ran, if it is not nil, is told which of them multiplies.
	Candidates []Candidate
	Ran        func(candidate int)
}

// Candidate is an algorithm of a stand-in.
type Candidate struct {
	Pieces    int   // of work that it queues, of which one multiplies
	Status    int32 // of every product
	State     int32 // as it is listed: 0 is for this GPU
	Workspace uint64
}

// Find looks for the library among stand-ins.
func (d *Device) Find(list ...StandIn) {
	var found []foundBLAS
	for _, s := range list {
		c := newColumns()
		c.fails, c.refuse, c.captured, c.queue = s.Fails, s.Refuses, s.Captured, s.Queue
		c.candidates, c.ran = s.Candidates, s.Ran
		found = append(found, foundBLAS{s.Path, c, s.Err})
	}
	d.findBLAS(slices.Values(found))
}
