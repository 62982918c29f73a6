package cuda

import "slices"

// StandIn is a cuBLASLt of the tests at a path, as if it had been found.
type StandIn struct {
	Path    string
	Err     error            // why it does not load
	Fails   map[string]int32 // statuses of its entry points
	Refuses bool             // it has no algorithm
}

// Find looks for the library among stand-ins.
func (d *Device) Find(list ...StandIn) {
	var found []foundBLAS
	for _, s := range list {
		c := newColumns()
		c.fails, c.refuse = s.Fails, s.Refuses
		found = append(found, foundBLAS{s.Path, c, s.Err})
	}
	d.findBLAS(slices.Values(found))
}
