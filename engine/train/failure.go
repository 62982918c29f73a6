package train

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/memtop/memtop/engine/alloc"
)

// OutOfMemoryError says that the device did not have the requested memory.
type OutOfMemoryError struct {
	Doing string // "setting up", or the step, as "step 12"; with the rank, of several
	// Snapshot is the file with the state of memory at that moment, "" if none
	// was requested.
	Snapshot string
	// SnapshotErr says why it could not be saved.
	SnapshotErr error
	Err         *alloc.OOMError
	// Lost says that the optimizer had begun to change parameters, so the step
	// cannot be taken again.
	Lost bool
}

// Error is one line.
func (e *OutOfMemoryError) Error() string {
	text := fmt.Sprintf("%s: %v", e.Doing, e.Err)
	switch {
	case e.SnapshotErr != nil:
		text += fmt.Sprintf("; the snapshot could not be saved: %v", e.SnapshotErr)
	case e.Snapshot != "":
		text += "; the state of memory is in " + e.Snapshot
	}
	return text
}

// Unwrap returns the allocator's error.
func (e *OutOfMemoryError) Unwrap() error { return e.Err }

// The allocator calls toldOOM before anything is released.
func (t *Trainer) toldOOM(e *alloc.OOMError) {
	if t.config.SaveOOM != nil {
		t.saved, t.savedErr = t.config.SaveOOM(e)
	}
}

// failed converts the failure of an operation into an error for the caller. If
// there are several ranks, the error names this one.
func (t *Trainer) failed(err error, doing string) error {
	if p := t.parallel; p != nil {
		doing = fmt.Sprintf("rank %d: %s", p.group.Rank(), doing)
	}
	err = OutOfMemory(err, doing)
	var oom *OutOfMemoryError
	if errors.As(err, &oom) {
		oom.Snapshot, oom.SnapshotErr = t.saved, t.savedErr
		t.saved, t.savedErr = "", nil
	}
	return err
}

// OutOfMemory returns an [OutOfMemoryError] if err is about missing memory, else
// err with the description of the work.
func OutOfMemory(err error, doing string) error {
	var oom *alloc.OOMError
	if errors.As(err, &oom) {
		return &OutOfMemoryError{Doing: doing, Err: oom}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// lost says that a step cannot be taken again.
func lost(err error) error {
	var oom *OutOfMemoryError
	if errors.As(err, &oom) {
		oom.Lost = true
	}
	return err
}

func count(n int64) string { return strconv.FormatInt(n, 10) }
