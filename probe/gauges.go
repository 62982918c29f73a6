package probe

import (
	"sync"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// gaugeLifetime is how old a reading of the gauges may be: drivers answer slowly,
// and their numbers do not change faster.
const gaugeLifetime = 250 * time.Millisecond

// firstGauge is how long a caller waits for the first reading.
const firstGauge = 250 * time.Millisecond

// sharedGauges is the newest reading of the gauges. A goroutine of its own reads
// them, so that a driver that does not answer holds up no viewer.
type sharedGauges struct {
	mu      sync.Mutex
	at      time.Time
	known   []trace.Gauge
	looking chan struct{} // closed when the current reading is done; nil without one
}

// read returns the newest reading and its time; none without a Gauge function.
// The caller must not modify it. When the reading is old, read begins another
// one.
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

// fresh is read for a caller that asks once. It waits for the current reading,
// and returns none instead of an old one.
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

// begin begins another reading when the newest is old. The channel is closed when
// the current reading is done; it is nil without one.
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

// wait returns when no reading is under way, or after d: the driver may never
// answer.
func (g *sharedGauges) wait(d time.Duration) {
	g.mu.Lock()
	looking := g.looking
	g.mu.Unlock()
	await(looking, d)
}

// await waits until done is closed, or for d. It does not wait for a nil channel.
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
