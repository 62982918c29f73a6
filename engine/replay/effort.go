package replay

import "errors"

// effort bounds what a replay does for calls whose cost grows with the number of
// blocks: an emptied cache, and a request that fails. No program makes so many of them
// that it matters, but a file may say so. It counts blocks looked at.
type effort int64

const (
	enough      = 1 << 28 // a few seconds
	failureCost = 16      // of a request that fails, against an emptied cache
)

var errEffort = errors.New("the cache is emptied, or requests fail, more often than is replayed")

// spend counts a call, and returns an error when there have been enough.
func (e *effort) spend(blocks int) error {
	if *e += effort(blocks) + 1; *e > enough {
		return errEffort
	}
	return nil
}
