package probe

import (
	"sync"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// gaugeLifetime is how old a look at the devices may be: drivers answer slowly,
// and their numbers do not move faster.
const gaugeLifetime = 250 * time.Millisecond

// firstGauge is how long a caller waits for a look when there was none yet.
const firstGauge = 250 * time.Millisecond

// sharedGauges is the newest look at the devices. Looking happens on a
// goroutine of its own: a driver that does not answer holds up no viewer.
type sharedGauges struct {
	mu      sync.Mutex
	at      time.Time
	known   []trace.Gauge
	looking chan struct{} // closed when the look under way is done; nil when none is
}

// read returns the newest look, which must not be changed, and when it was;
// none without a function to look with. It begins another when that is old.
func (g *sharedGauges) read(look func() []trace.Gauge) ([]trace.Gauge, time.Time) {
	if look == nil {
		return nil, time.Time{}
	}
	known, at, looking := g.begin(look)
	if !at.IsZero() {
		return known, at
	}
	await(looking, firstGauge)
	return g.newest()
}

// fresh is read for a caller that asks once: it waits for the look that is under
// way, and returns none rather than an old one.
func (g *sharedGauges) fresh(look func() []trace.Gauge) []trace.Gauge {
	if look == nil {
		return nil
	}
	_, _, looking := g.begin(look)
	await(looking, firstGauge)
	known, at := g.newest()
	if time.Since(at) > gaugeLifetime+firstGauge {
		return nil
	}
	return known
}

// begin begins another look when the newest is old. The channel is closed when
// the look under way is done, and nil when none is.
func (g *sharedGauges) begin(look func() []trace.Gauge) ([]trace.Gauge, time.Time, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.looking == nil && time.Since(g.at) >= gaugeLifetime {
		g.looking = make(chan struct{})
		go g.look(look, g.looking)
	}
	return g.known, g.at, g.looking
}

func (g *sharedGauges) newest() ([]trace.Gauge, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known, g.at
}

func (g *sharedGauges) look(look func() []trace.Gauge, done chan struct{}) {
	known := look()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.known, g.at, g.looking = known, time.Now(), nil
	close(done)
}

// wait returns when no look is under way, or after d: the driver may never
// answer.
func (g *sharedGauges) wait(d time.Duration) {
	g.mu.Lock()
	looking := g.looking
	g.mu.Unlock()
	await(looking, d)
}

// await waits until done is closed, or for d. A nil channel is not waited for.
func await(done <-chan struct{}, d time.Duration) {
	if done == nil {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
