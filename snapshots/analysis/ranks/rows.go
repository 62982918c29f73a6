package ranks

import (
	"slices"
	"sync"
)

// Rows has the rows of files while these are being read, for a screen. It is safe
// for concurrent use.
type Rows struct {
	mu      sync.Mutex
	rows    []Row
	changed chan struct{} // never closed
}

// NewRows returns the rows of files that have not been read.
func NewRows(files []File) *Rows {
	r := &Rows{rows: make([]Row, len(files)), changed: make(chan struct{}, 1)}
	for i := range files {
		r.rows[i] = files[i].Without(NotRead)
	}
	return r
}

// Set replaces a row, after its file was read.
func (r *Rows) Set(at int, row Row) {
	r.mu.Lock()
	r.rows = slices.Clone(r.rows) // what was handed out stays
	r.rows[at] = row
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Rows returns the current row of each file.
func (r *Rows) Rows() []Row {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rows
}

// Changed returns a channel that receives a value when a file was read.
func (r *Rows) Changed() <-chan struct{} { return r.changed }
