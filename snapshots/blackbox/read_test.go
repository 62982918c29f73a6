package blackbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// program is a made program that writes a box: equal blocks of one segment, handed out
// and taken back at random.
type program struct {
	t     testing.TB
	data  []byte
	w     *Writer
	e     *wire.Encoder
	names *trace.Interner
	stack trace.StackID
	live  [slots]bool
	rnd   *rand.Rand
}

const (
	slots      = 64
	blockBytes = 4096
	segmentAt  = 1 << 30
)

func newProgram(t testing.TB) *program {
	t.Helper()
	p := &program{t: t, data: make([]byte, LeastSize), names: trace.NewInterner(), rnd: rand.New(rand.NewPCG(1, 2))}
	var err error
	if p.w, err = NewWriter(p.data, []int{3}); err != nil {
		t.Fatal(err)
	}
	p.name("forward")
	return p
}

// name has later events be from a new stack.
func (p *program) name(function string) {
	p.stack = p.names.Stack([]trace.FrameID{p.names.Frame(trace.Frame{File: p.names.String("model.go"), Name: p.names.String(function), Line: 7})})
}

func (p *program) state() trace.State {
	s := trace.Segment{
		Addr: segmentAt, Size: slots * blockBytes,
		Given:        trace.GaveAddr | trace.GaveSize | trace.GaveType,
		SegmentFacts: trace.SegmentFacts{Type: p.names.String("small"), Device: 3},
	}
	for i, live := range p.live {
		b := trace.Block{Addr: segmentAt + uint64(i)*blockBytes, Size: blockBytes, Given: trace.GaveAddr | trace.GaveSize | trace.GaveState | trace.GaveRequested}
		if live {
			b.State, b.Stack, b.Requested = trace.Allocated, p.stack, blockBytes
		}
		s.Blocks = append(s.Blocks, b)
	}
	return trace.State{Segments: []trace.Segment{s}}
}

// generation writes a whole state, and publishes it.
func (p *program) generation() {
	p.t.Helper()
	p.w.Begin([]Sums{p.w.Ring(0).Sums()})
	p.e = wire.NewEncoder(p.w)
	p.e.Hello(&wire.Hello{PID: 4711, Command: "train", Devices: []int{3}})
	state, tables := p.state(), p.names.View()
	p.e.Tables(&tables)
	p.e.Base(3, p.w.Ring(0).Sums().Events, &state, 0, "")
	p.publish()
}

// publish appends the names that are new.
func (p *program) publish() {
	p.t.Helper()
	tables := p.names.View()
	p.e.Tables(&tables)
	fatal.If(p.t, p.e.Flush())
	p.w.Publish()
}

func (p *program) run(events int) {
	for range events {
		i := p.rnd.IntN(slots)
		kind := trace.Alloc
		if p.live[i] {
			kind = trace.Free
		}
		p.live[i] = !p.live[i]
		ring := p.w.Ring(0)
		ring.Record(&trace.Event{
			Addr: segmentAt + uint64(i)*blockBytes, Size: blockBytes, Time: ring.Sums().Events + 1, Stack: p.stack, Kind: kind, Slack: 1,
		})
	}
}

func (p *program) read() (*trace.Trace, error) {
	return Read(p.t.Context(), bytes.NewReader(p.data), Options{})
}

// inUse is what the program holds, by its own count.
func (p *program) inUse() (bytes int64) {
	for _, live := range p.live {
		if live {
			bytes += blockBytes
		}
	}
	return bytes
}

// want checks that the box has the program's memory and its last events.
func (p *program) want(events int) *trace.Trace {
	p.t.Helper()
	tr, err := p.read()
	fatal.If(p.t, err)
	d, last, sums := tr.Device(3), tr.Live.Ended.Devices[0], p.w.Ring(0).Sums()
	if got, reserved := totals(d); got != p.inUse() || reserved != slots*blockBytes || last.Requested != p.inUse() || last.Reserved != reserved {
		p.t.Errorf("%d bytes in use and %d reserved, %+v at the end; want %d and %d: %v", got, reserved, last, p.inUse(), slots*blockBytes, tr.Notices)
	}
	if n := d.Events.Len(); n != events || d.First+int64(n) != sums.Events || last.Events != sums.Events {
		p.t.Errorf("%d events from number %d on, the last is %d; want %d that end with %d", n, d.First, last.Events, events, sums.Events)
	}
	for i := range d.Events.Len() {
		if got := d.Events.At(i).Time; got != d.First+int64(i)+1 {
			p.t.Fatalf("event %d is of the time %d, want %d", i, got, d.First+int64(i)+1)
		}
	}
	return tr
}

func TestTheEventsBeforeAStateAndAfterItAreThere(t *testing.T) {
	p := newProgram(t)
	p.generation()
	p.run(100)
	p.generation()
	p.run(50)
	if tr := p.want(150); len(tr.Notices) > 0 || tr.Live.Ended.Goodbye != "" || tr.Live.PID != 4711 {
		t.Errorf("notices %q, the end %+v", tr.Notices, tr.Live.Ended)
	}
}

// TestATornEntryIsNotUsed changes an entry as a program that is killed leaves it: some of
// it new, and its number that of the event that it was to replace.
func TestATornEntryIsNotUsed(t *testing.T) {
	p := newProgram(t)
	p.generation()
	room := int(p.w.Room())
	p.run(room + room/2)
	p.generation()
	next := p.w.Ring(0).Sums().Events
	at := p.w.ringAt(0) + int(next%int64(room))*entrySize
	binary.LittleEndian.PutUint64(p.data[at:], 0xdead)
	binary.LittleEndian.PutUint64(p.data[at+8:], 1)
	p.want(room - 1)
}

func TestABoxThatIsCutOffSaysSo(t *testing.T) {
	p := newProgram(t)
	p.generation()
	p.run(300)
	whole := p.data
	for n := range len(whole) / 512 {
		p.data = whole[:n*512]
		tr, err := p.read()
		if corrupt := (*CorruptError)(nil); err != nil && !errors.As(err, &corrupt) {
			t.Fatalf("%d bytes: %v", n*512, err)
		}
		if err == nil && (!tr.Info.Truncated || !strings.Contains(tr.Notices[0], "not whole")) {
			t.Errorf("%d bytes: notices %q", n*512, tr.Notices)
		}
	}
	p.data = whole[:len(whole)-pageSize]
	if _, err := p.read(); err != nil {
		t.Errorf("all but the last page: %v", err)
	}
}

func TestAStateThatWasNotFinishedDoesNotCount(t *testing.T) {
	p := newProgram(t)
	p.generation()
	p.generation()
	p.run(100)
	p.w.Begin([]Sums{p.w.Ring(0).Sums()})
	if _, err := p.w.Write([]byte("half of a stream")); err != nil {
		t.Fatal(err)
	}
	p.run(10)
	p.want(110)
	b, err := newBox(&window{r: bytes.NewReader(p.data), size: len(p.data)})
	fatal.If(t, err)
	if all := b.generations(); len(all) != 1 || all[0].number != 2 {
		t.Errorf("%d states count", len(all))
	}
}

func TestADamagedStateLeavesTheOneBefore(t *testing.T) {
	p := newProgram(t)
	p.generation()
	p.run(100)
	p.generation()
	p.run(10)
	p.data[p.w.slotAt(p.w.slot)+p.w.prelude()+20] ^= 1
	if tr := p.want(110); !strings.Contains(strings.Join(tr.Notices, " "), "the newest state in the box is damaged") {
		t.Errorf("notices %q", tr.Notices)
	}
}

func TestNamesThatWereNotWrittenAnyMoreAreSaid(t *testing.T) {
	p := newProgram(t)
	p.generation()
	p.run(1)
	p.name("backward")
	p.run(1)
	p.publish()
	p.name("optimizer")
	p.run(1)
	tr := p.want(3)
	d := tr.Device(3)
	for i, want := range []string{"forward", "backward", wire.Unwritten} {
		stack := tr.Tables.Stack(d.Events.At(i).Stack)
		if got := tr.Tables.FrameName(stack[0]); got != want {
			t.Errorf("event %d is from %q, want %q", i, got, want)
		}
	}
	if !strings.Contains(strings.Join(tr.Notices, " "), "1 of the events") {
		t.Errorf("notices %q", tr.Notices)
	}
}

func TestSumsThatContradictTheStateAreANotice(t *testing.T) {
	p := newProgram(t)
	p.generation()
	p.run(100)
	last := p.w.Ring(0).Sums().Events - 1
	p.data[p.w.ringAt(0)+int(last)*entrySize+41] ^= 1
	tr, err := p.read()
	if err != nil || !strings.Contains(strings.Join(tr.Notices, " "), "the program had counted") && tr.Live.Ended.Devices[0].Lost == 0 {
		t.Errorf("%v, %v", err, tr)
	}
}

func TestAHeaderThatMakesNoSenseIsRefused(t *testing.T) {
	for name, change := range map[string]struct {
		at   int
		to   string
		want string
	}{
		"another version":         {6, "\x02", "version 2"},
		"transferred as text":     {4, "\n\n", "as text"},
		"a size of no box":        {sizeAt, "\xff\xff\xff\xff\xff\xff\xff\xff", "between"},
		"no device and no rings":  {countAt, "\x00\x00\x00\x00", "byte"},
		"too many devices":        {countAt, "\xff\xff\xff\xff", "devices"},
		"a device beyond all":     {devicesAt, "\x00\x00\x01\x00", "device 65536"},
		"no state":                {slotsAt, strings.Repeat("\x00", 32), "no state"},
		"a state of another time": {0, "", "the state of device 3"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t)
			p.generation()
			copy(p.data[change.at:], change.to)
			if change.to == "" {
				p.data[p.w.slotAt(1)] = 9
			}
			if _, err := p.read(); err == nil || !strings.Contains(err.Error(), change.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, change.want)
			}
		})
	}
}

func TestABoxIsRefusedThatNeedsMoreMemoryThanIsAllowed(t *testing.T) {
	p := newProgram(t)
	p.generation()
	_, err := Read(t.Context(), bytes.NewReader(p.data), Options{Bound: trace.FixedBound(24<<20 + 4096)})
	if corrupt := (*CorruptError)(nil); !errors.As(err, &corrupt) || !corrupt.Memory {
		t.Errorf("got %v", err)
	}
}

func TestAStateThatIsTooLargeLeavesTheOneBefore(t *testing.T) {
	p := newProgram(t)
	p.generation()
	p.w.Begin([]Sums{p.w.Ring(0).Sums()})
	if _, err := p.w.Write(make([]byte, LeastSize)); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	p.run(10)
	p.want(10)
}

func TestRecordingAllocatesNothing(t *testing.T) {
	p := newProgram(t)
	if n := testing.AllocsPerRun(1000, func() { p.run(1) }); n > 0 {
		t.Errorf("%v allocations for an event", n)
	}
}

// TestAStreamThatEndsAnywhereIsReadOrDamaged has the header say of both slots that so many
// bytes of them count, from none on.
func TestAStreamThatEndsAnywhereIsReadOrDamaged(t *testing.T) {
	p := newProgram(t)
	p.generation()
	p.run(10)
	p.generation()
	whole := bytes.Clone(p.data)
	for length := 0; length < 1000; length += 7 {
		p.data = bytes.Clone(whole)
		for slot := range 2 {
			binary.LittleEndian.PutUint64(p.data[slotsAt+slot*slotBytes+8:], uint64(length))
		}
		if _, err := p.read(); err != nil && !errors.As(err, new(*CorruptError)) {
			t.Fatalf("%d bytes of a slot: %T %v, want a *CorruptError", length, err, err)
		}
	}
}

// FuzzRead changes bytes of a box and cuts it off: it is read or refused, quickly and in
// bounds.
func FuzzRead(f *testing.F) {
	p := newProgram(f)
	p.generation()
	p.run(int(p.w.Room()) + 100)
	p.generation()
	p.run(100)
	whole := bytes.Clone(p.data)
	f.Add(uint32(0), []byte{}, uint32(len(whole)))
	f.Add(uint32(slotsAt), bytes.Repeat([]byte{0xff}, 32), uint32(len(whole)))
	f.Add(uint32(p.w.slotAt(0)), []byte("\xff\xff\xff\xff\xff\xff\xff\x7f"), uint32(len(whole)))
	f.Add(uint32(p.w.ringAt(0)+56), []byte("\x01\x00\x00\x00\x00\x00\x00\x7f"), uint32(len(whole)))
	f.Add(uint32(p.w.ringAt(0)), []byte{}, uint32(p.w.ringAt(0)+100))
	f.Fuzz(func(t *testing.T, at uint32, change []byte, length uint32) {
		data := bytes.Clone(whole)
		copy(data[int(at)%len(data):], change)
		tr, err := Read(t.Context(), bytes.NewReader(data[:min(int(length), len(data))]), Options{})
		if corrupt := (*CorruptError)(nil); err != nil && !errors.As(err, &corrupt) && !errors.As(err, new(*wire.VersionError)) {
			t.Fatalf("an error of another kind: %v", err)
		}
		if err == nil && (tr.Live == nil || tr.Live.Ended == nil || len(tr.Live.Ended.Devices) != 1) {
			t.Fatalf("a trace without an end: %+v", tr)
		}
	})
}
