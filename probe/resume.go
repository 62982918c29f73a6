package probe

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// Coming back
//
// A viewer that lost its connection says how far it had read. Its new session
// continues there, as the session of a slow viewer does: it sends the events that
// the ring still has as if nothing had happened, and a state in place of those
// that the ring has lost. The probe asks the program for nothing.

// place is how far a viewer has read.
type place struct {
	events map[int]int64 // by device: the event that comes next
	step   int64         // the number of the last step that it has
}

// placeOf returns the place where a viewer wants to continue, nil for a new
// viewer.
func placeOf(r *http.Request) (*place, error) {
	query := r.URL.Query()
	if !query.Has("from") {
		return nil, nil
	}
	at := &place{events: make(map[int]int64)}
	for _, text := range query["from"] {
		device, next, _ := strings.Cut(text, ":")
		id, err := strconv.Atoi(device)
		n, err2 := strconv.ParseInt(next, 10, 64)
		if err != nil || err2 != nil || n < 0 {
			return nil, statusf(http.StatusBadRequest, "from must be a device and the number of an event, such as 0:1234")
		}
		at.events[id] = n
	}
	if text := query.Get("step"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, statusf(http.StatusBadRequest, "step must be the number of a step")
		}
		at.step = n
	}
	return at, nil
}

// resume sets the session to the place where its viewer wants to continue with a
// device. It reports whether this program has reached that place.
func (s *session) resume(device int) bool {
	if s.from == nil {
		return false
	}
	at, known := s.from.events[device]
	if !known || at > s.p.rings[device].end() {
		return false
	}
	s.at[device] = at // the next batch begins there, or with a state if the ring lost it
	return true
}

// resumeSteps sets the session to the first kept step that its viewer does not
// have.
func (s *session) resumeSteps() {
	for at := s.step - 1; at >= max(0, s.step-stepsKept); at-- {
		var step *trace.Step
		if step, _ = s.p.steps.read(at); step == nil || step.Number <= s.from.step {
			s.step = at + 1
			return
		}
	}
	s.step = max(0, s.step-stepsKept)
}
