package probe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// relayed sends what an agent senses to one viewer, at the viewer's pace: first the
// state, then the news. If the viewer is too slow, the feed has dropped entries: then
// it gets the current state and the number of events that it missed.
type relayed struct {
	r        *Relay
	e        *wire.Encoder
	flush    func() error
	hello    *wire.Hello
	interval time.Duration
	uncached bool  // the program has no caching allocator
	at       int64 // the next entry
	event    int64 // the number of the next event to send
	stepped  int64 // the number of steps sent and dropped before
	sent     time.Time
	looking  bool // until a batch has all that the first whole look found
	outdated bool // the hello message is no longer true
	blind    bool // the memory's state was not sent, so what becomes of it is not either
	notices  []string
	told
	fit    func(pickle []byte) []byte // shortens a snapshot if the viewer has little room
	events []trace.Event              // scratch
}

const (
	// firstLook is how long the state may wait for the first look. If a step takes
	// longer, the viewer sees it when it ends.
	firstLook = 2 * time.Second
	another   = "the program has begun to use a device: attach again to see the device's memory"
)

func (r *Relay) newRelayed(w io.Writer, flush func() error, interval time.Duration) *relayed {
	p := r.known()
	s := &relayed{r: r, e: wire.NewEncoder(w), flush: flush, interval: interval, hello: r.hello(interval, &p), notices: p.Notices, looking: true, told: told{version: -1}}
	s.fit = func(pickle []byte) []byte { return pickle }
	for _, setting := range p.Settings {
		s.uncached = s.uncached || setting.Key == "allocator" && setting.Value == "none"
	}
	return s
}

func (r *Relay) stream(w http.ResponseWriter, req *http.Request, want wanted) error {
	paced := r.newPaced(w)
	r.fresh(firstLook) // the program may have begun to use a device
	s := r.newRelayed(paced, paced.Flush, want.interval)
	s.e.Checksum(want.checksum)
	return s.run(req.Context())
}

// run sends until the viewer has gone, the program ends, or the hello message is no
// longer true.
func (s *relayed) run(ctx context.Context) error {
	s.e.Hello(s.hello)
	if err := s.write(); err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	if err := s.begin(true); err != nil {
		return err
	}
	tick := time.NewTicker(min(s.interval, lookAt))
	defer tick.Stop()
	for !s.outdated {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.r.closing:
			return s.end()
		case now := <-tick.C:
			if !s.due(now) {
				continue
			}
			if err := s.batch(); err != nil {
				return err
			}
		}
	}
	s.e.Bye(another)
	return s.write()
}

// await waits, for a limited time, until the program has measured its memory since
// the first viewer came.
func (s *relayed) await(ctx context.Context) error {
	until := time.Now().Add(firstLook)
	poll := time.NewTicker(protocol.MinInterval)
	defer poll.Stop()
	for !s.r.known().Looked && time.Now().Before(until) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.r.closing:
			return nil
		case <-poll.C:
		}
	}
	s.looking = s.r.known().Looking
	return nil
}

func (s *relayed) end() error {
	if err := s.batch(); err != nil {
		return err
	}
	s.r.mu.Lock()
	reason := s.r.reason
	s.r.mu.Unlock()
	if reason != "" {
		s.e.Bye(reason)
	}
	return s.write()
}

// due reports whether to send: the interval has passed and there is news, or the feed
// may soon drop entries.
func (s *relayed) due(now time.Time) bool {
	since, waiting := now.Sub(s.sent), s.r.feed.end()-s.at
	_, version := s.r.changes.view()
	news := waiting > 0 || version != s.version
	return news && since >= s.interval-protocol.MinInterval/2 || since >= max(protocol.Heartbeat, s.interval) || waiting > feedEvents/4
}

// begin sends the current state. If memory is not known, it sends all but its state.
func (s *relayed) begin(known bool) error {
	s.state("", known)
	return s.finish()
}

// batch sends the news.
func (s *relayed) batch() error {
	entries, tables, ok := s.r.feed.since(s.at)
	if !ok {
		if s.compare(); s.outdated {
			return nil
		}
		s.state("the viewer fell behind", true)
		return s.finish()
	}
	s.e.Tables(&tables)
	s.entries(entries)
	s.at += int64(len(entries))
	return s.finish()
}

// state sends the current state. With a reason, it also says how many events the
// viewer missed.
func (s *relayed) state(reason string, known bool) {
	now, missed := s.r.feed.state(), int64(0)
	if reason != "" {
		missed = now.events - s.event
		s.r.meter.dropped.Add(missed)
		s.r.meter.droppedSteps.Add(max(0, now.stepped-s.stepped-stepsBefore))
	}
	s.at, s.event, s.stepped, s.blind = now.at, now.events, now.stepped, !known
	s.e.Tables(&now.tables)
	switch {
	case s.blind:
	case s.uncached:
		for i, device := range s.hello.Devices {
			memory := now.memory
			if i > 0 {
				memory = trace.State{}
			}
			s.e.Base(device, now.events, &memory, missed, reason)
		}
	case now.taken != nil:
		s.snapshot(now.taken)
	}
	for _, step := range now.steps {
		s.e.Step(step)
	}
	if len(now.gauges) > 0 {
		s.e.Gauges(now.gauges)
	}
}

// entries sends entries in order. Consecutive events share frames.
func (s *relayed) entries(entries []entry) {
	for i := range entries {
		e := &entries[i]
		if e.isEvent() {
			s.events = append(s.events, e.event)
			continue
		}
		s.sendEvents()
		switch {
		case e.step != nil:
			s.stepped++
			s.e.Step(e.step)
		case e.gauges != nil:
			s.e.Gauges(e.gauges)
		default:
			if t := s.r.feed.snapshotAt(s.at + int64(i)); t != nil && !s.blind {
				s.snapshot(t)
			}
		}
	}
	s.sendEvents()
}

func (s *relayed) sendEvents() {
	if s.uncached && !s.blind {
		s.e.Events(s.hello.Devices[0], s.event, s.events)
	}
	s.event += int64(len(s.events))
	s.events = s.events[:0]
}

func (s *relayed) snapshot(t *Taken) {
	s.e.Snapshot(s.fit(t.Pickle))
	for _, of := range t.Tags {
		s.e.Tags(of.Device, of.Tags)
	}
}

// finish ends a batch.
func (s *relayed) finish() error {
	s.update(s.e, &s.r.changes)
	p := s.compare()
	counters := s.r.counters()
	counters.Looking = s.looking
	s.e.Counters(counters)
	s.looking = p.Looking // of the next batch, which has everything until now
	return s.write()
}

func (s *relayed) write() error {
	s.sent = time.Now()
	if err := s.e.Flush(); err != nil {
		return err
	}
	return s.flush()
}

// compare notes whether the hello message is still true.
func (s *relayed) compare() Program {
	p := s.r.known()
	devices := len(p.Devices) == 0 || p.Devices[0].Device == s.hello.Devices[0]
	s.outdated = !devices || !reflect.DeepEqual(p.Settings, s.hello.Settings) || !slices.Equal(p.Notices, s.notices)
	return p
}

// snapshot returns what a viewer sees of the program now.
func (r *Relay) snapshot(ctx context.Context) (*trace.Trace, error) {
	var sent bytes.Buffer
	r.fresh(firstLook)
	s := r.newRelayed(&sent, func() error { return nil }, protocol.DefaultInterval)
	s.e.Hello(s.hello)
	if err := s.await(ctx); err != nil {
		return nil, err
	}
	if s.uncached {
		return r.feed.trace(s.hello), nil
	}
	if err := s.begin(true); err != nil {
		return nil, err
	}
	stream := wire.NewStream(&sent, wire.StreamOptions{Memory: snapshotBytes})
	for {
		if _, err := stream.Advance(); errors.Is(err, io.EOF) {
			return stream.Trace(), nil
		} else if err != nil {
			return nil, err
		}
	}
}

// snapshotBytes bounds the memory for a snapshot that a viewer asks for.
const snapshotBytes = 1 << 30
