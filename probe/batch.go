package probe

import (
	"reflect"
	"slices"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// batch sends what happened since the last batch. The order of reading matters. A
// step must come after its events, so batch reads the end of the steps before the
// end of the events. It asks for the tables after that, so that they have all
// names of the events. It reads the gauges first, so that the batch has the
// events that led to them.
func (s *session) batch() error {
	began, waited := time.Now(), s.w.waited
	gauges, looked := s.p.gauges.read(s.p.o.Gauge)
	steps := s.p.steps.end()
	for _, device := range s.p.devices {
		s.ends[device] = s.p.rings[device].end()
	}
	s.e.Tables(s.p.tables.covering(s.p, s.ends))
	for _, device := range s.p.devices {
		s.events(device, s.ends[device])
	}
	s.steps(steps)
	s.update(s.e, &s.p.changes)
	if looked != s.looked {
		s.e.Gauges(gauges)
		s.looked = looked
	}
	s.e.Counters(s.p.counters())
	err := s.flush()
	s.p.meter.busy.Add(int64(time.Since(began) - (s.w.waited - waited)))
	return err
}

func (s *session) flush() error {
	s.sent = time.Now()
	if err := s.e.Flush(); err != nil {
		return err
	}
	return s.w.Flush()
}

func (s *session) events(device int, end int64) {
	r := s.p.rings[device]
	slack, lost := false, false
	for s.at[device] < end {
		at := s.at[device]
		events, ok := r.read(at)
		if !ok && lost {
			return // the program is far too fast
		}
		if !ok { // the state may be a little old: later events belong to the batch
			s.lost(device)
			lost = true
			continue
		}
		events = events[:min(int64(len(events)), end-at)]
		if s.minor < 1 && slices.ContainsFunc(events, hasSlack) {
			events, slack = withoutSlack(events), true
		}
		s.e.Events(device, at, events)
		s.at[device] += int64(len(events))
	}
	if slack {
		s.base(device, s.at[device], "the allocator has other rules than PyTorch's")
	}
}

func hasSlack(e trace.Event) bool { return e.Slack > 0 }

// withoutSlack returns events in the form that a viewer of minor version 0 reads.
func withoutSlack(events []trace.Event) []trace.Event {
	old := slices.Clone(events)
	for i := range old {
		old[i].Slack = 0
	}
	return old
}

// lost tells a slow viewer how many events it missed, and begins again with the
// current state.
func (s *session) lost(device int) {
	at := s.at[device]
	missed := s.base(device, at, "the viewer fell behind")
	s.p.meter.dropped.Add(missed)
	s.p.o.Log.Info("viewer fell behind", "device", device, "missed", missed)
}

// first sends the first state, and before it the past if the viewer asked for
// that. It sends the state in both cases: undoing events cannot recover
// everything in it, such as the requested size of a free block.
func (s *session) first(device int) {
	if s.past {
		b := s.p.base(device)
		if a, ok := s.p.before(device, b); ok {
			a.send(s.e, device, b)
			s.at[device] = b.at
			return
		}
	}
	s.base(device, 0, "")
}

// base sends a state of the device. It returns how many events, from number at
// on, the viewer skips because of it.
func (s *session) base(device int, at int64, reason string) (missed int64) {
	b := s.p.base(device)
	if b.at < at { // the state is shared, and this viewer is ahead of it
		b = s.p.takeBase(device)
	}
	if reason != "" {
		missed = b.at - at
	}
	s.e.Tables(b.tables)
	s.e.Base(device, b.at, &b.state, missed, reason)
	s.at[device] = b.at
	return missed
}

func (s *session) steps(end int64) {
	var steps []*trace.Step
	for ; s.step < end; s.step++ {
		step, lost := s.p.steps.read(s.step)
		if step == nil && !lost {
			break // the step has its number and is still being written
		}
		if lost {
			s.p.meter.droppedSteps.Add(1)
			continue
		}
		steps = append(steps, step)
	}
	s.tell(steps)
}

// tell sends steps: in batches, to a viewer that reads batches.
func (s *session) tell(steps []*trace.Step) {
	if s.minor >= 2 {
		s.e.Steps(steps)
		return
	}
	for _, step := range steps {
		s.e.Step(step)
	}
}

// told is what a viewer knows of the settings.
type told struct {
	options []trace.Option
	changes map[int64]trace.Change
	version int64 // of changes
}

// update sends the options and the changes that differ from what the viewer has.
func (t *told) update(e *wire.Encoder, c *changes) {
	list, version := c.view()
	if options := c.options(); !reflect.DeepEqual(options, t.options) {
		e.Options(options)
		t.options = options
	}
	if version == t.version {
		return
	}
	t.version = version
	known := make(map[int64]trace.Change, len(list))
	for i := range list {
		if old, ok := t.changes[list[i].ID]; !ok || old != list[i] {
			e.Change(&list[i])
		}
		known[list[i].ID] = list[i]
	}
	t.changes = known
}

// hello is the first message of a stream.
func (p *Probe) hello(interval time.Duration) *wire.Hello {
	h := p.greeting(interval)
	h.Capabilities, h.ReadOnly = p.capabilities(), !p.changes.allowed()
	h.Devices, h.Settings = p.devices, p.source.Settings()
	if p.box != nil && p.box.cut.Load() {
		if _, err := p.BlackBox(); err != nil {
			h.Notices = []string{"if it is killed nothing will be left of it: its black box " + err.Error()}
		}
	}
	return h
}

func (p *Probe) counters() wire.Counters {
	c := p.service.counters()
	c.ProbeNS, _ = p.Cost()
	return c
}

// counters says what viewers have missed.
func (p *service) counters() wire.Counters {
	return wire.Counters{Time: time.Now().UnixMicro(), Dropped: p.meter.dropped.Load(), DroppedSteps: p.meter.droppedSteps.Load()}
}
