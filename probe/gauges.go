package probe

import (
	"sync"
	"time"

	"memtop/snapshots/trace"
)

// gaugeLifetime is how old a look at the devices may be: drivers answer slowly,
// and their numbers do not move faster.
const gaugeLifetime = 250 * time.Millisecond

// sharedGauges is the newest look at the devices.
type sharedGauges struct {
	mu    sync.Mutex
	at    time.Time
	known []trace.Gauge
}

// read returns the newest look, which must not be changed, and when it was;
// none without a function to look with.
func (g *sharedGauges) read(look func() []trace.Gauge) ([]trace.Gauge, time.Time) {
	if look == nil {
		return nil, time.Time{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at.IsZero() || time.Since(g.at) >= gaugeLifetime {
		g.known = look()
		g.at = time.Now()
	}
	return g.known, g.at
}
