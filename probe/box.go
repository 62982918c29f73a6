package probe

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/mapped"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// # The black box
//
// The probe also keeps what it sends to viewers in a file in memory, so that a
// user can read it after the program was killed. The goroutine that records an
// event stores it there, see [blackbox.Ring]. A goroutine of the box writes all
// else: it is a session whose viewer is the file, without events. A state and all
// names begin a generation. The box appends what follows, and begins another
// generation before the ring loses events since that state, or when the room is
// used up.
//
// The box costs the program a store for each event, and the processor time of its
// goroutine. Asking for a state holds up the allocator, so the box then waits a
// hundred times as long before it asks again.

const (
	// DefaultBox is the usual size of a black box in bytes.
	DefaultBox = 16 << 20
	// LeastBox is the smallest size.
	LeastBox = blackbox.LeastSize
	// MostBox is the largest size.
	MostBox = blackbox.MostSize
	// boxPage divides all sizes.
	boxPage = 4096
	// boxPause is the pause between two writes to the box, unless a ring runs full
	// or an event has a new name. New names are collected for boxNames.
	boxPause = 100 * time.Millisecond
	boxNames = 10 * time.Millisecond
	// boxAlive is how often a program that does nothing notes that it runs.
	boxAlive = time.Minute
	// boxRest is how many times longer than a state took the box waits before the
	// next one.
	boxRest = 100
	// boxRetry is the wait before the box tries again a state that did not fit.
	boxRetry = 10 * time.Second
)

// box is a program's black box. The recording goroutines call record. The
// goroutine of run owns all else; before it starts and after it ends, Listen and
// Close do.
type box struct {
	p     *Probe
	file  *boxFile
	w     *blackbox.Writer
	woken chan struct{} // something is new: has room for one, and is never closed
	named chan struct{} // likewise, a name
	full  chan struct{} // likewise, half of a ring
	done  chan struct{} // closed when run has returned
	half  int64         // of a ring, less one: a mask

	stacks, notes atomic.Uint32 // how many the box has
	cut           atomic.Bool   // another program cut the file short: the box stores nothing more

	s      *session // of the current generation
	ends   []int64
	states []int64     // by device: the first event after the generation's state
	rest   time.Time   // the box asks for no state before it
	again  *time.Timer // wakes the goroutine when the rest is over
}

// boxRing lets a ring keep its events in the box too.
type boxRing struct {
	*blackbox.Ring
	box *box
}

// record stores an event. It wakes the box's goroutine when the event refers to a
// name that the box does not have yet, or when half of the ring is full.
func (r *boxRing) record(e *trace.Event) {
	b, at := r.box, int64(0)
	if b.cut.Load() {
		return
	}
	if mapped.Touch(b.file.data, func() error { at = r.Record(e); return nil }) != nil {
		b.cut.Store(true)
		signal(b.full)
		return
	}
	if at&b.half == b.half {
		signal(b.full)
	}
	if uint32(e.Stack) >= b.stacks.Load() || uint32(e.Note) >= b.notes.Load() {
		signal(b.named)
	}
}

// signal puts an item into a channel with room for one, unless it is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wake makes the box's goroutine look for news. On a nil box it does nothing.
func (b *box) wake() {
	if b != nil {
		signal(b.woken)
	}
}

// openBox makes the program's black box, before the probe observes anything. When
// that fails, viewers can still watch the program, and the log says why there is
// no box.
func (p *Probe) openBox() {
	file, w, err := p.makeBox(p.devices)
	if err != nil {
		p.withoutBox(err)
	}
	if w == nil {
		return
	}
	b := &box{
		p: p, file: file, w: w, woken: make(chan struct{}, 1), named: make(chan struct{}, 1), full: make(chan struct{}, 1), done: make(chan struct{}),
		half: w.Room()/2 - 1,
		ends: make([]int64, len(p.rings)), states: make([]int64, len(p.rings)),
	}
	b.again = time.AfterFunc(boxAlive, b.wake)
	for i, device := range p.devices {
		p.rings[device].box = &boxRing{w.Ring(i), b}
	}
	p.box = b
}

// makeBox makes the file. It returns nil when the options or the environment want
// none.
func (p *service) makeBox(devices []int) (*boxFile, *blackbox.Writer, error) {
	size, folder, err := p.o.boxPlace()
	if err != nil || size == 0 {
		return nil, nil, err
	}
	if folder == "" {
		if folder, err = boxFolder(filepath.Dir(p.socket.path), p.who.uid); err != nil {
			return nil, nil, err
		}
	}
	if err := protocol.MakeFolder(folder, p.who.uid); err != nil {
		return nil, nil, err
	}
	path := filepath.Join(folder, protocol.BoxName(p.who.pid, p.who.start))
	protocol.TidyBoxes(folder, path)
	file, err := makeBoxFile(path, size, p.o.Box == 0)
	if err != nil {
		return nil, nil, err
	}
	var w *blackbox.Writer
	if err := mapped.Touch(file.data, func() error { w, err = blackbox.NewWriter(file.data, devices); return err }); err != nil {
		file.remove()
		return nil, nil, err
	}
	return file, w, nil
}

// beginBox writes the first state, gives the box its name and keeps it up to date from
// then on.
func (p *Probe) beginBox() {
	b := p.box
	if b == nil {
		return
	}
	err := b.touch(b.begin)
	if err == nil {
		err = b.file.name()
	}
	if err != nil {
		b.lose(err)
		close(b.done)
		return
	}
	go b.run()
}

func (p *service) withoutBox(err error) {
	p.boxless.Store(&err)
	p.o.Log.Warn("no black box", "error", err)
}

// run writes news when there is some. It sleeps most of the time: waking costs
// the program more than the writing.
func (b *box) run() {
	defer close(b.done)
	alive := time.NewTicker(boxAlive)
	defer func() { alive.Stop(); b.again.Stop() }()
	for {
		select {
		case <-b.p.closing:
			return
		case <-b.woken:
		case <-b.named:
			b.pause(boxNames, nil)
		case <-b.full:
		case <-alive.C:
		}
		if err := b.touch(b.update); err != nil {
			b.lose(err)
			return
		}
		if b.pause(boxPause, b.named) {
			b.pause(boxNames, nil)
		}
	}
}

// pause sleeps for that long, or until half of a ring is full or the program
// ends. It also ends, and reports true, when the channel has an item.
func (b *box) pause(d time.Duration, until <-chan struct{}) (came bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-b.p.closing:
	case <-b.full:
		signal(b.full)
	case <-until:
		signal(b.woken)
		return true
	case <-timer.C:
	}
	return false
}

// update writes the news, as a new generation if needed.
func (b *box) update() error {
	b.w.Alive(time.Now().UnixMicro())
	err := b.append()
	if err == nil && !b.crowded() {
		return nil
	}
	if wait := time.Until(b.rest); wait > 0 {
		b.again.Reset(wait)
		return nil
	}
	if err := b.begin(); err != nil {
		b.p.o.Log.Warn("the black box keeps an older state", "error", err)
		b.rest = time.Now().Add(boxRetry)
	}
	return nil
}

// crowded reports whether half of a ring came after the state of the generation.
func (b *box) crowded() bool {
	for _, device := range b.p.devices {
		if b.p.rings[device].end()-b.states[device] > b.half {
			return true
		}
	}
	return false
}

// begin writes a generation.
func (b *box) begin() error {
	p, held := b.p, b.p.meter.states.Load()
	bases, sums := make([]*base, 0, len(p.devices)), make([]blackbox.Sums, 0, len(p.devices))
	for _, device := range p.devices {
		base := p.takeBase(device) // not one that viewers share: that may be old
		bases, sums = append(bases, base), append(sums, base.sums)
	}
	b.rest = time.Now().Add(boxRest * time.Duration(p.meter.states.Load()-held))
	b.w.Begin(sums)
	b.s = &session{p: p, e: wire.NewEncoder(b.w), step: p.steps.end(), told: told{version: -1}}
	b.s.e.Hello(p.hello(0))
	for i, device := range p.devices {
		b.s.e.Tables(bases[i].tables)
		b.s.e.Base(device, bases[i].at, &bases[i].state, 0, "")
		b.states[device] = bases[i].at
	}
	b.s.history()
	if gauges, at := p.gauges.newest(); !at.IsZero() {
		b.s.e.Gauges(gauges)
	}
	return b.append()
}

// append writes the names in all events so far, the newest step and the changes.
func (b *box) append() error {
	p, e := b.p, b.s.e
	steps := p.steps.end()
	for _, device := range p.devices {
		b.ends[device] = p.rings[device].end()
	}
	tables := p.tables.covering(p, b.ends)
	e.Tables(tables)
	if steps > b.s.step {
		b.step(steps)
	}
	if _, version := p.changes.view(); version != b.s.version {
		b.s.update(e, &p.changes)
	}
	e.Counters(p.counters())
	if err := e.Flush(); err != nil {
		return err
	}
	b.w.Publish()
	b.stacks.Store(uint32(tables.StackCount()))
	b.notes.Store(uint32(len(tables.Notes)))
	return nil
}

// step writes the newest step. Its layers come with the next generation: they are long.
func (b *box) step(end int64) {
	if newest, _ := b.p.steps.read(end - 1); newest != nil {
		short := *newest
		short.Layers = nil
		b.s.e.Step(&short)
	}
	b.s.step = end
}

// close removes the box of a program that ended normally. It keeps the box when a
// request failed for lack of memory.
func (b *box) close() {
	if b == nil {
		return
	}
	<-b.done
	if b.p.boxless.Load() != nil {
		return // the file is gone
	}
	failed := int64(0)
	for _, device := range b.p.devices {
		failed += b.p.rings[device].failed.Load()
	}
	if failed == 0 || b.s == nil {
		b.file.remove()
		return
	}
	if err := b.touch(func() error { b.bye(failed); return nil }); err != nil {
		b.lose(err)
		return
	}
	b.file.leave()
}

// bye writes the last news and how the program ended.
func (b *box) bye(failed int64) {
	if b.append() != nil {
		_ = b.begin() // on failure the box ends without a goodbye
	}
	b.s.e.Bye(fmt.Sprintf("it ended after %d of its requests had found no memory", failed))
	if b.s.e.Flush() == nil {
		b.w.Publish()
	}
}

// touch calls do, which writes to the box. If another program cut the file short,
// the error says so.
func (b *box) touch(do func() error) error {
	if b.cut.Load() {
		return b.file.errCut()
	}
	err := b.file.touch(do)
	if errors.Is(err, mapped.ErrCut) {
		b.cut.Store(true)
	}
	return err
}

// touch calls do, which writes to the file. If another program cut the file short, the
// error is mapped.ErrCut and says so.
func (b *boxFile) touch(do func() error) error {
	if b.isCut() {
		return b.errCut()
	}
	err := mapped.Touch(b.data, do)
	if errors.Is(err, mapped.ErrCut) {
		err = b.errCut()
	}
	return err
}

func (b *boxFile) errCut() error { return cutError(b.path) }

// cutError is the path of a file that another program cut short.
type cutError string

func (e cutError) Error() string { return string(e) + " was cut short by another program" }

// Is reports that it is mapped.ErrCut.
func (cutError) Is(target error) bool { return target == mapped.ErrCut }

// lose gives up the box while the program goes on.
func (b *box) lose(err error) { b.p.loseBox(b.file, err) }

func (p *service) loseBox(file *boxFile, err error) {
	file.remove()
	p.withoutBox(err)
}

// errNoMemoryFolder says that the system has no folder in memory for a box.
var errNoMemoryFolder = errors.New("there is no folder in memory for it, such as /dev/shm: name one with Options.BoxDir or " + protocol.BlackBoxVariable)

// boxPlace returns the size of the box and its folder. The folder "" is the usual
// one, and the size 0 means no box. The environment decides what the options
// leave open.
func (o *Options) boxPlace() (size int, folder string, err error) {
	size, folder = o.Box, o.BoxDir
	if text := o.boxWish(); text != "" && (size == 0 || folder == "") {
		said, dir, err := protocol.ParseBlackBox(text)
		if err != nil {
			return 0, "", err
		}
		if size == 0 {
			size = said
		}
		if folder == "" {
			folder = dir
		}
	}
	switch {
	case size < 0:
		return 0, "", nil
	case size == 0:
		size = cmp.Or(o.usualBox, DefaultBox)
	}
	return (size + boxPage - 1) &^ (boxPage - 1), folder, nil
}

// boxWish returns what the program's environment says of black boxes.
func (o *Options) boxWish() string {
	if o.wish != nil {
		return *o.wish
	}
	return os.Getenv(protocol.BlackBoxVariable)
}
