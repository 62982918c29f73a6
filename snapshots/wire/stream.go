package wire

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// StreamOptions bound and name the traces of a [Stream]. The zero value is a live
// stream with the default limits.
type StreamOptions struct {
	Kind   string // of the traces: "live", the same as "", or "recording"
	Limits Limits
	// Memory bounds the bytes that the stream keeps, 0 for a bound that suits a
	// running program.
	Memory int64
	// Look, unless nil, is called with each frame before the stream uses it, and
	// with the tables. It must not modify or keep either.
	Look func(*Frame, *trace.Tables)
}

// Stream makes traces of a stream. It is owned by one goroutine; any goroutine
// may read its traces.
//
//	s := wire.NewStream(connection, wire.StreamOptions{})
//	for {
//		f, err := s.Advance()
//		if err != nil { … }
//		if f == wire.CountersFrame { show(s.Trace()) }
//	}
type Stream struct {
	options  StreamOptions
	shares   shares
	memory   int64 // the total of the shares
	in       *trace.Interner
	decoder  *Decoder
	follower *trace.Follower
	hello    *Hello
	settings []trace.Setting
	next     map[int]int64 // by device: the number of the event that must be next
	resumed  bool          // the next bases bridge a lost connection
	merging  merging
	steps    steps
	live     trace.Live
	ended    bool // a goodbye has arrived
	counters Counters
}

// NewStream returns a stream that reads from r.
func NewStream(r io.Reader, o StreamOptions) *Stream {
	in, shares := trace.NewInterner(), sharesOf(o.Memory)
	o.Limits.Tables = cmp.Or(o.Limits.Tables, shares.tables)
	if o.Memory <= 0 {
		o.Limits.Blocks = cmp.Or(o.Limits.Blocks, liveBlocks)
	}
	in.Bound(o.Limits.Tables)
	return &Stream{
		options: o, shares: shares, memory: o.Memory, in: in, decoder: newDecoder(r, o.Limits, in), follower: trace.NewFollower(in, shares.events),
		next: make(map[int]int64), steps: steps{room: shares.steps},
		merging: merging{tags: make(map[int][]trace.Tag), windowed: make(map[int]bool), marks: make(map[int]*marks), told: make(map[int]told)},
	}
}

// Resume continues with another connection to the same program. Data missing in
// between becomes a gap.
func (s *Stream) Resume(r io.Reader) {
	s.decoder = newDecoder(r, s.options.Limits, s.in)
	s.resumed = true
}

// Place returns how far the stream has been read: by device the number of the
// next event, and the number of the last step.
func (s *Stream) Place() (events map[int]int64, step int64) {
	if n := len(s.steps.all); n > 0 {
		step = s.steps.all[n-1].Number
	}
	return maps.Clone(s.next), step
}

// Hello returns the program's greeting, nil before it arrives.
func (s *Stream) Hello() *Hello { return s.hello }

// Ended returns whether the stream said goodbye, and why.
func (s *Stream) Ended() (reason string, ok bool) { return s.live.Note, s.ended }

// Counters returns the newest counters.
func (s *Stream) Counters() Counters { return s.counters }

// Disconnect notes that the connection is lost, and why, until a Resume is
// greeted.
func (s *Stream) Disconnect(why string) { s.live.Connected, s.live.Note = false, why }

// Advance reads one frame. For its errors see [Decoder.Next].
func (s *Stream) Advance() (Type, error) {
	f, err := s.decoder.Next()
	if err != nil {
		return 0, err
	}
	if s.options.Look != nil {
		s.options.Look(&f, &s.in.Tables)
	}
	if err := s.take(&f); err != nil {
		return 0, s.decoder.unfit(f.Type, err, "")
	}
	return f.Type, nil
}

func (s *Stream) take(f *Frame) error {
	switch f.Type {
	case HelloFrame:
		return s.greet(f.Hello)
	case BaseFrame:
		return s.base(f)
	case EventsFrame:
		return s.events(f)
	case SnapshotFrame:
		if f.Left > 0 {
			return nil
		}
		return s.takeSnapshot(f.Parts)
	case TagsFrame:
		s.takeTags(f.Device, f.Tags)
		return nil
	case StepsFrame:
		for i := range f.Steps {
			s.add(&f.Steps[i])
		}
		return nil
	default:
		if f.Type < firstMessage {
			return nil // the decoder handles tables
		}
		if take := messages[f.Type].take; take != nil {
			take(s, f)
		}
		return nil
	}
}

func (s *Stream) greet(h *Hello) error {
	s.merge()
	if s.hello != nil {
		if h.PID != s.hello.PID || h.Started != s.hello.Started {
			return fmt.Errorf("it comes from process %d, and what came before from process %d", h.PID, s.hello.PID)
		}
		s.resumed = true
	}
	s.hello, s.settings, s.ended = h, h.Settings, false
	s.live.PID, s.live.Command, s.live.User, s.live.Started = h.PID, h.Command, h.User, h.Started
	s.live.RehearsedOn = h.RehearsedOn
	s.live.Learnt = h.Learnt[:min(len(h.Learnt), trace.MostLearnt)]
	for i := range s.live.Learnt {
		l := &s.live.Learnt[i]
		l.Site, l.Verdict, l.Reason = trace.Printable(l.Site), trace.Printable(l.Verdict), trace.Printable(l.Reason)
	}
	if s.live.Rank = nil; h.Rank != nil && h.Rank.Valid() {
		s.live.Rank = h.Rank.Printable()
	}
	s.live.Connected, s.live.Note = s.options.Kind != "recording", ""
	s.describe()
	return nil
}

func (s *Stream) describe() {
	info := trace.Info{Kind: s.options.Kind, PickleProtocol: -1, Writer: s.hello.Writer}
	if info.Kind == "" {
		info.Kind = "live"
	}
	if info.Kind == "live" {
		info.Growing, info.Control = true, !s.hello.ReadOnly && slices.Contains(s.hello.Capabilities, "control")
	} else {
		info.Container = "mtr"
	}
	s.follower.Describe(info, s.settings)
}

func (s *Stream) base(f *Frame) error {
	if s.merging.windowed[f.Device] {
		return &ruleError{"P5", fmt.Sprintf("device %d comes by snapshots", f.Device)}
	}
	next, known := s.next[f.Device]
	missed, reason := f.Missed, f.Reason
	if known && f.First >= next {
		missed = f.First - next
	}
	if s.resumed && reason == "" {
		reason = "the connection was lost"
	}
	s.follower.Base(f.Device, f.First, f.State, missed, reason)
	if !s.follower.Follows(f.Device) {
		return fmt.Errorf("there is no room for device %d", f.Device)
	}
	s.next[f.Device] = f.First
	return nil
}

func (s *Stream) events(f *Frame) error {
	next, known := s.next[f.Device]
	switch {
	case !known:
		return fmt.Errorf("device %d had no base", f.Device)
	case next != f.First:
		return fmt.Errorf("its first event is number %d, and number %d should follow", f.First, next)
	}
	s.follower.Append(f.Device, f.Events)
	s.next[f.Device] = next + int64(len(f.Events))
	return nil
}

func (s *Stream) count(c Counters) {
	s.merge()
	s.counters = c
	s.live.Dropped, s.live.DroppedSteps, s.live.ProbeNS, s.live.Looking = c.Dropped, c.DroppedSteps, c.ProbeNS, c.Looking
	if s.live.Connected {
		s.live.Note = ""
		if c.Looking {
			s.live.Note = looking
		}
	}
}

// looking is the note about a program that has measured no whole step yet.
const looking = "measuring a first step"

// keep returns the newest of list, in new memory if it drops some.
func keep[T any](list []T, most int) []T {
	if len(list) <= most {
		return list
	}
	return slices.Clone(list[len(list)-most*3/4:])
}

// change adds a change, or replaces it. It makes a new list, because traces use
// the old one.
func (s *Stream) change(c *trace.Change) {
	changes := slices.Clone(s.live.Changes)
	at, ok := slices.BinarySearchFunc(changes, c.ID, func(c trace.Change, id int64) int {
		return int(min(max(c.ID-id, -1), 1))
	})
	if ok {
		changes[at] = *c
	} else {
		changes = slices.Insert(changes, at, *c)
	}
	s.live.Changes = keep(changes, s.shares.changes)
}

// Trace returns the current trace. Its cost grows with the news since the last
// call.
func (s *Stream) Trace() *trace.Trace {
	s.merge()
	live := s.live
	live.Gauges = slices.Clip(live.Gauges)
	t := s.follower.Publish(s.steps.list(), &live)
	for _, notice := range s.hello.Notices[:min(len(s.hello.Notices), maxNotices)] {
		t.Notices = append(t.Notices, trace.Printable(notice))
	}
	if s.in.Full() {
		t.Notices = append(t.Notices, "the program has more different names and stacks than memtop keeps: later ones show as "+trace.NotKept)
	}
	return t
}
