package terminal

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"
)

// Recorder makes a [Cast] of a terminal that is used by keys. The caller sets the
// times of the recording, so that a recording made on a slower machine is as
// long. The caller passes the Recorder to StartWatched as watch. Write may be
// called at the same time as the other methods; one goroutine at a time calls the
// others.
type Recorder struct {
	mu      sync.Mutex
	pending []byte
	last    time.Time // when output came

	cast  Cast
	clock float64 // seconds
}

// NewRecorder returns a recorder of a screen of w×h cells.
func NewRecorder(w, h int) *Recorder { return &Recorder{cast: Cast{Width: w, Height: h}} }

// Write keeps the program's output.
func (r *Recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = append(r.pending, p...)
	r.last = time.Now()
	return len(p), nil
}

// quiet is how long a screen must have no output to be complete. patience is the
// longest wait for that, because a live screen is never quiet for long.
const (
	quiet    = 120 * time.Millisecond
	patience = 400 * time.Millisecond
)

// Settle waits until the screen is complete, as far as that can be seen.
func (r *Recorder) Settle(ctx context.Context) error {
	look := time.NewTicker(quiet / 4)
	defer look.Stop()
	for begun := time.Now(); ; {
		r.mu.Lock()
		since := time.Since(r.last)
		r.mu.Unlock()
		if since > quiet || time.Since(begun) > patience {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("the screen did not come to rest: %w", ctx.Err())
		}
	}
}

// Show adds the program's new output to the recording, and shows it for the given
// seconds.
func (r *Recorder) Show(seconds float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	whole := wholeCharacters(r.pending)
	r.cast.Events = append(r.cast.Events, CastEvent{r.clock, string(r.pending[:whole])})
	r.pending = append(r.pending[:0], r.pending[whole:]...)
	r.clock += seconds
}

// Cast returns the recording so far.
func (r *Recorder) Cast() *Cast {
	all := r.cast
	all.Events = append(all.Events[:len(all.Events):len(all.Events)], CastEvent{r.clock, ""})
	return &all
}

// wholeCharacters returns how many bytes of b come before an incomplete character
// at its end.
func wholeCharacters(b []byte) int {
	for at := len(b) - 1; at >= 0 && at >= len(b)-utf8.UTFMax; at-- {
		if utf8.RuneStart(b[at]) {
			if utf8.FullRune(b[at:]) {
				break
			}
			return at
		}
	}
	return len(b)
}
