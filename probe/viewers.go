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
	total int64
	all   sync.WaitGroup
}

// enter makes room for one more, who must leave again.
func (v *viewers) enter() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now >= maxViewers {
		return statusf(http.StatusServiceUnavailable, "%d viewers are watching already: close one of them", maxViewers)
	}
	v.now++
	v.total++
	v.all.Add(1)
	return nil
}

func (v *viewers) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now--
	v.all.Done()
}

func (v *viewers) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// wait returns when all have left. Nobody may enter any more.
func (v *viewers) wait() { v.all.Wait() }
