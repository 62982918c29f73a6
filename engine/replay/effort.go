package replay

import "errors"

// effort bounds a replay's work for calls whose cost grows with the number of
// blocks: emptying the cache, and a failed request. Real programs make few of
// them, but a hostile file may have many. It counts visited blocks.
type effort int64

const (
	enough      = 1 << 28 // a few seconds
	failureCost = 16      // cost of a failed request, relative to emptying the cache
)

var errEffort = errors.New("the cache is emptied, or requests fail, more often than is replayed")

// spend counts a call, and returns an error beyond the bound.
func (e *effort) spend(blocks int) error {
	if *e += effort(blocks) + 1; *e > enough {
		return errEffort
	}
	return nil
}
