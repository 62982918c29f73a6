package probe

import (
	"net/http"
	"sync"
)

// maxViewers is how many streams may be open at a time.
const maxViewers = 64

// viewers counts the open streams.
type viewers struct {
	mu    sync.Mutex
	now   int
	ended bool
	all   sync.WaitGroup
	// changed is called when a viewer has come or gone.
	changed func()
}

// enter counts one more viewer, which must later leave.
func (v *viewers) enter() error {
	err := v.add()
	v.changed()
	return err
}

func (v *viewers) add() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now >= maxViewers {
		return statusf(http.StatusServiceUnavailable, "%d viewers are watching already: close one of them", maxViewers)
	}
	if v.ended {
		return errEnding
	}
	v.now++
	v.all.Add(1)
	return nil
}

func (v *viewers) leave() {
	v.mu.Lock()
	v.now--
	v.mu.Unlock()
	v.changed()
	v.all.Done()
}

func (v *viewers) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// end keeps every later viewer out.
func (v *viewers) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
}

// wait, called after end, returns when all viewers have left.
func (v *viewers) wait() { v.all.Wait() }

var errEnding = statusf(http.StatusServiceUnavailable, "the program is ending")
