package probe

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// # The black box of a program with an agent
//
// The box is a session whose viewer is the file: a slot is a whole stream, with the
// events in it. The agent is another process, so what it has sent survives it.
// One goroutine writes. It appends the news, and begins another slot with the state
// when the slot is full, when viewers come or go, and when the agent has looked at
// the program while nobody watches.

// relayBox is a black box. The goroutine of run owns it, before and after it NewRelay
// and Close do.
type relayBox struct {
	r      *Relay
	file   *boxFile
	w      *blackbox.Writer
	woken  chan struct{} // something is new: has room for one, and is never closed
	anew   atomic.Bool   // the next write begins a slot
	viewed atomic.Bool
	quit   chan struct{}
	done   chan struct{}
	s      *relayed // of the current slot, nil if what was begun last did not fit
	again  time.Time
}

const (
	// relayBoxPause is the pause between two writes, with viewers and without.
	relayBoxPause, relayBoxQuiet = time.Second, 100 * time.Millisecond
	relayBoxAlive                = 10 * time.Second
	// mostOfSlot is how much of a slot a state may take: steps need room too.
	mostOfSlot = 0.75
)

const tooLarge = "what held the memory did not fit into the black box: " + protocol.BlackBoxVariable + "=64MiB makes a larger one"

// beginBox makes the box. If that fails, the program's description says why.
func (r *Relay) beginBox() {
	file, w, err := r.makeBox(nil)
	if err != nil {
		r.withoutBox(err)
	}
	if w == nil {
		return
	}
	b := &relayBox{r: r, file: file, w: w, woken: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	err = file.touch(func() error { b.begin(false); return nil })
	if err == nil {
		err = file.name()
	}
	if err != nil {
		r.loseBox(file, err)
		return
	}
	r.box = b
	go b.run()
}

// Box returns the size of the program's black box in bytes, 0 if it has none, and
// whether its folder is in memory.
func (r *Relay) Box() (bytes int, inMemory bool) {
	if r.box == nil {
		return 0, false
	}
	return len(r.box.file.data), isInMemory(filepath.Dir(r.box.file.path))
}

// wake has the box write the news. On a nil box it does nothing.
func (b *relayBox) wake() {
	if b != nil {
		signal(b.woken)
	}
}

// renew has the box begin a slot with the current state.
func (b *relayBox) renew() {
	if b != nil {
		b.anew.Store(true)
		signal(b.woken)
	}
}

func (b *relayBox) watch(viewed bool) {
	if b != nil {
		b.viewed.Store(viewed)
	}
}

// path returns the path of the file, "" without one.
func (b *relayBox) path() string {
	if b == nil {
		return ""
	}
	return b.file.path
}

func (b *relayBox) run() {
	defer close(b.done)
	alive := time.NewTicker(relayBoxAlive)
	defer alive.Stop()
	for {
		select {
		case <-b.quit:
			return
		case <-b.woken:
		case <-alive.C:
		}
		if err := b.touch(b.update); err != nil {
			b.r.loseBox(b.file, err)
			return
		}
		pause := relayBoxQuiet
		if b.viewed.Load() {
			pause = relayBoxPause
		}
		select {
		case <-b.quit:
			return
		case <-time.After(pause):
		}
	}
}

// update writes the news. A viewer's first look takes a while: until then the box
// keeps what it has.
func (b *relayBox) update() {
	b.w.Alive(time.Now().UnixMicro())
	if b.viewed.Load() && !b.r.known().Looked {
		return
	}
	sees := b.s != nil && b.s.at >= b.r.feed.oldest() && (!b.s.blind || !b.r.feed.sees() || time.Now().Before(b.again))
	if !b.anew.Swap(false) && sees && b.append() {
		return
	}
	if time.Now().After(b.again) {
		b.begin(true)
	}
}

// append writes the news, and reports whether they fit.
func (b *relayBox) append() bool {
	err := b.s.batch()
	if b.s.outdated || err != nil {
		return false
	}
	b.w.Publish()
	return true
}

// begin begins a slot with the state, or without that of the memory if it is not known
// or too large. If not even that fits, the old slot counts.
func (b *relayBox) begin(known bool) {
	for _, whole := range [...]bool{true, false} {
		if whole && !known {
			continue
		}
		size := &counter{w: b.w}
		b.w.Begin(nil)
		s := b.r.newRelayed(size, func() error { return nil }, relayBoxPause)
		s.fit = func(pickle []byte) []byte { return fitted(pickle, b.w.SlotBytes()/2) }
		if known && !whole {
			s.hello.Notices = append(s.hello.Notices[:len(s.hello.Notices):len(s.hello.Notices)], tooLarge)
		}
		s.e.Hello(s.hello)
		if s.begin(whole) != nil || whole && size.n > int(mostOfSlot*float64(b.w.SlotBytes())) {
			continue
		}
		b.w.Publish()
		if b.s = s; known && !whole {
			b.again = time.Now().Add(boxRetry)
		}
		return
	}
	b.s, b.again = nil, time.Now().Add(boxRetry)
}

// fitted returns a snapshot without its history if it has more bytes than that.
func fitted(pickle []byte, most int) []byte {
	if len(pickle) <= most {
		return pickle
	}
	t, err := pytorch.Decode(context.Background(), bytes.NewReader(pickle), pytorch.Options{})
	if err != nil {
		return pickle
	}
	for i := range t.Devices {
		t.Devices[i].Events = trace.Events{}
	}
	var short bytes.Buffer
	if pytorch.Write(&short, t) != nil {
		return pickle
	}
	return short.Bytes()
}

// counter counts the bytes that are written.
type counter struct {
	w *blackbox.Writer
	n int
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += n
	return n, err
}

// touch calls do, which writes to the box. If another program cut the file short or
// removed it, the error says so.
func (b *relayBox) touch(do func()) error {
	err := b.file.touch(func() error { do(); return nil })
	if err == nil && b.file.isGone() {
		err = fmt.Errorf("%s was removed by another program", b.file.path)
	}
	return err
}

// close ends the box: it removes that of a program that ended by itself.
func (b *relayBox) close(remove bool) {
	if b == nil {
		return
	}
	close(b.quit)
	<-b.done
	switch {
	case b.r.boxless.Load() != nil: // the file is gone
	case remove:
		b.file.remove()
	default:
		_ = b.touch(func() {
			if b.s == nil || !b.append() {
				b.begin(true)
			}
		})
		b.file.leave()
	}
}
