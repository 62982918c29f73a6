package probe

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// contentFrames is the content type of /v1/stream.
const contentFrames = "application/vnd.memtop.stream"

// lookAt is how often a session checks whether the ring will overflow before the
// viewer's next batch is due.
const lookAt = 250 * time.Millisecond

// session sends events and steps to one viewer, at the viewer's pace. The
// goroutine of the viewer's request owns it.
type session struct {
	p        *Probe
	w        *paced
	e        *wire.Encoder
	interval time.Duration
	past     bool    // the viewer wants the events before the first state
	from     *place  // where the viewer's last connection ended, nil when it is new
	minor    int     // the minor version that the viewer reads
	at       []int64 // by device: the next event to send
	ends     []int64 // by device: scratch space of batch
	step     int64   // the next step to send
	sent     time.Time
	told
	looked time.Time // the time of the gauges
}

// wanted is what a viewer asks of its stream.
type wanted struct {
	viewer   string
	interval time.Duration
	checksum wire.Checksum
	past     bool   // the events before the first state
	from     *place // where the viewer's last connection ended, nil when it is new
	minor    int    // the minor version that the viewer reads
}

func readWanted(r *http.Request) (want wanted, err error) {
	if want.viewer, err = viewerName(r); err != nil {
		return want, err
	}
	if want.interval, err = duration(r, "interval", protocol.DefaultInterval, protocol.MinInterval, protocol.MaxInterval); err != nil {
		return want, err
	}
	known := false
	if want.checksum, known = wire.ChecksumNamed(r.URL.Query().Get("checksum")); !known {
		return want, statusf(http.StatusBadRequest, "checksum must be crc32c, crc32 or none")
	}
	if want.minor, err = minorOf(r); err != nil {
		return want, err
	}
	want.past = r.URL.Query().Has("past")
	want.from, err = placeOf(r)
	return want, err
}

func (p *service) serveStream(w http.ResponseWriter, r *http.Request, s shown) error {
	want, err := readWanted(r)
	if err != nil {
		return err
	}
	if err := p.viewers.enter(); err != nil {
		return err
	}
	defer p.viewers.leave()
	p.changes.lease.open(want.viewer)
	defer p.changes.lease.close(want.viewer)
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Type", contentFrames)
	p.o.Log.Info("viewer came", "viewer", want.viewer, "interval", want.interval)
	err = s.stream(w, r, want)
	p.o.Log.Info("viewer left", "viewer", want.viewer, "error", err)
	return nil // the answer has begun, so a failure means that the viewer has left
}

func (p *Probe) stream(w http.ResponseWriter, r *http.Request, want wanted) error {
	return p.newSession(w, want).run(r.Context())
}

// minorOf returns the minor version that a viewer reads.
func minorOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("minor")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, statusf(http.StatusBadRequest, "minor must be the number of a minor version")
	}
	return n, nil
}

func (p *Probe) newSession(w http.ResponseWriter, want wanted) *session {
	paced := p.newPaced(w)
	s := &session{
		p: p, w: paced, e: wire.NewEncoder(paced), interval: want.interval,
		past: want.past, from: want.from, minor: want.minor,
		at: make([]int64, len(p.rings)), ends: make([]int64, len(p.rings)),
		step: p.steps.end(),
	}
	s.e.Checksum(want.checksum)
	return s
}

// run sends the state, then what happens, until the viewer has gone or the program
// ends.
func (s *session) run(ctx context.Context) error {
	if err := s.begin(); err != nil {
		return err
	}
	tick := time.NewTicker(min(s.interval, lookAt))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.p.closing:
			return s.end()
		case now := <-tick.C:
			if err := s.tick(now); err != nil {
				return err
			}
		}
	}
}

// begin sends hello, the state of each device and the last steps. A viewer that
// comes back gets only what it does not have.
func (s *session) begin() error {
	s.e.Hello(s.p.hello(s.interval))
	for _, device := range s.p.devices {
		if !s.resume(device) {
			s.first(device)
		}
	}
	if s.from != nil {
		s.resumeSteps()
	} else {
		s.history()
	}
	return s.batch()
}

// stepsBefore is how many earlier steps a new viewer gets.
const stepsBefore = 64

// history sends the last steps. Layers are long, so they come only with the
// newest step of each device that has them. That step is sent however old it is.
func (s *session) history() {
	newest, oldest := make(map[int]int64), max(0, s.step-stepsKept)
	for at := oldest; at < s.step; at++ {
		if step, _ := s.p.steps.read(at); step != nil && len(step.Layers) > 0 {
			newest[step.Device] = at
		}
	}
	var steps []*trace.Step
	for at := oldest; at < s.step; at++ {
		step, _ := s.p.steps.read(at)
		if step == nil {
			continue
		}
		sent := *step
		if newest[step.Device] != at {
			sent.Layers = nil
		}
		if len(sent.Layers) > 0 || at >= s.step-stepsBefore {
			steps = append(steps, &sent)
		}
	}
	s.tell(steps)
}

func (s *session) end() error {
	if err := s.batch(); err != nil {
		return err
	}
	s.e.Bye("the program ended")
	return s.flush()
}

// tick sends a batch when it is due: the interval has passed, or the ring could
// overflow before that. While nothing happens it sends only the heartbeat.
func (s *session) tick(now time.Time) error {
	since := now.Sub(s.sent)
	due := since >= s.interval-protocol.MinInterval/2 && s.news()
	if due || since >= max(protocol.Heartbeat, s.interval) || s.crowded() {
		return s.batch()
	}
	return nil
}

// news reports whether there is anything that the viewer does not have.
func (s *session) news() bool {
	for _, device := range s.p.devices {
		if s.p.rings[device].end() > s.at[device] {
			return true
		}
	}
	_, version := s.p.changes.view()
	_, looked := s.p.gauges.read(s.p.o.Gauge)
	return s.p.steps.end() > s.step || version != s.version || looked != s.looked
}

// crowded reports whether much of a ring waits to be sent.
func (s *session) crowded() bool {
	for _, device := range s.p.devices {
		if r := s.p.rings[device]; r.end()-s.at[device] > r.kept()/4 {
			return true
		}
	}
	return s.p.steps.end()-s.step > stepsKept/4
}
