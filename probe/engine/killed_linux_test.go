package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/killtest"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// killedVariable has the test binary be the program that is killed; its value is a folder.
const killedVariable = "MEMTOP_TEST_BLACK_BOX"

func TestMain(m *testing.M) {
	if folder := os.Getenv(killedVariable); folder != "" {
		fmt.Fprintln(os.Stderr, runUntilKilled(folder))
		os.Exit(1)
	}
	probetest.WithoutBoxes()
	os.Exit(m.Run())
}

// ledger is the test's own count of what a program did, in memory that it shares with
// its parent. It has two entries, written in turn, so that one is always whole: an
// entry's number is stored last.
type ledger struct {
	entries *[2]counted
	now     counted
}

type counted struct {
	requested, reserved int64
	events              atomic.Int64
}

func openLedger(path string) (*ledger, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping stays
	if err := f.Truncate(4096); err != nil {
		return nil, err
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &ledger{entries: (*[2]counted)(unsafe.Pointer(&data[0]))}, nil
}

// change returns by how much an event changes what is requested and reserved.
func change(e *trace.Event) (requested, reserved int64) {
	switch e.Kind {
	case trace.Alloc:
		return e.Size, 0
	case trace.Free, trace.FreeCompleted:
		return -e.Size, 0
	case trace.SegmentAlloc, trace.SegmentMap:
		return 0, e.Size
	case trace.SegmentFree, trace.SegmentUnmap:
		return 0, -e.Size
	default:
		return 0, 0
	}
}

// count adds an event that was completed.
func (l *ledger) count(e *trace.Event) {
	requested, reserved := change(e)
	l.now.requested += requested
	l.now.reserved += reserved
	n := l.now.events.Load() + 1
	l.now.events.Store(n)
	to := &l.entries[n&1]
	to.requested, to.reserved = l.now.requested, l.now.reserved
	to.events.Store(n)
}

// last returns the last completed event and what all add up to.
func (l *ledger) last() (events, requested, reserved int64) {
	e := &l.entries[0]
	if l.entries[1].events.Load() > e.events.Load() {
		e = &l.entries[1]
	}
	return e.events.Load(), e.requested, e.reserved
}

// counting counts what a recorder has taken.
type counting struct {
	probe.Source
	*ledger
	to trace.Recorder
}

func (c *counting) Observe(r trace.Recorder) {
	c.to = r
	c.Source.Observe(c)
}

func (c *counting) Record(device int, e trace.Event) {
	c.to.Record(device, e)
	c.count(&e)
}

// runUntilKilled makes random requests as quickly as it can, and a step now and then.
func runUntilKilled(folder string) error {
	l, err := openLedger(filepath.Join(folder, "ledger"))
	if err != nil {
		return err
	}
	a, err := alloc.New(&host{next: 1 << 40}, alloc.Options{Limit: 1 << 32})
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(os.Getenv("MEMTOP_TEST_BOX_SIZE"))
	if err != nil {
		return err
	}
	a.SetStacks(true)
	p, err := probe.Listen(context.Background(), probe.Options{Dir: folder, Box: size, BoxDir: folder}, &counting{Source: Source(a), ledger: l})
	if err != nil {
		return err
	}
	if _, err := p.BlackBox(); err != nil {
		return err
	}
	random, live := rand.New(rand.NewPCG(uint64(os.Getpid()), 1)), make([]alloc.Allocation, 0, 1024)
	for n := int64(1); ; n++ {
		if len(live) == cap(live) || len(live) > 0 && random.IntN(2) == 0 {
			i := random.IntN(len(live))
			a.Free(live[i])
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		} else {
			tag := a.Tag(alloc.Label{Category: trace.Activation, Layer: "layer " + strconv.Itoa(random.IntN(200))})
			b, err := a.Alloc(1+random.Int64N(3<<20), 0, tag)
			if err != nil {
				return err
			}
			live = append(live, b)
		}
		if n%1000 == 0 {
			a.EmptyCache()
			p.Step(trace.Step{Number: n / 1000, Time: time.Now().UnixMicro(), Duration: 1})
		}
	}
}

// TestKillingAProgramLeavesItsBlackBox kills a program at random moments. Its black box
// opens and adds up to what the program had done: the last event that it completed, or
// the one after it, which is in the box before the program's own count has it.
func TestKillingAProgramLeavesItsBlackBox(t *testing.T) {
	quick, torn := 0, 0
	for i := range killtest.Times(t) {
		lost, ahead := killOne(t, []int{16 << 20, 1 << 20, 4 << 20}[i%3])
		if lost {
			quick++
		}
		if ahead {
			torn++
		}
	}
	t.Logf("%d of the programs were too quick for their box, %d killed between the box and their own count", quick, torn)
}

// killOne kills one program. It reports whether it was too quick for its box, and whether
// the box was an event ahead of the ledger.
func killOne(t *testing.T, size int) (lost, ahead bool) {
	t.Helper()
	folder := memoryFolder(t)
	program, err := os.Executable()
	fatal.If(t, err)
	c := exec.CommandContext(t.Context(), program)
	c.Env = append(os.Environ(), killedVariable+"="+folder, "MEMTOP_TEST_BOX_SIZE="+strconv.Itoa(size))
	c.Stderr = os.Stderr
	fatal.If(t, c.Start())
	var boxes []string
	probetest.Eventually(t, "a black box", func() bool {
		boxes, _ = filepath.Glob(filepath.Join(folder, "[0-9]*.box"))
		return len(boxes) == 1
	})
	<-time.After(rand.N(200 * time.Millisecond))
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait() // it was killed
	l, err := openLedger(filepath.Join(folder, "ledger"))
	fatal.If(t, err)
	return wantLedger(t, onfile.Trace(t, boxes[0]), l)
}

// wantLedger compares a box with the ledger.
func wantLedger(t *testing.T, tr *trace.Trace, l *ledger) (lost, ahead bool) {
	t.Helper()
	end := tr.Live.Ended
	if end == nil || len(end.Devices) != 1 || end.Runs || end.Goodbye != "" {
		t.Fatalf("the end is %+v", end)
	}
	last, d := end.Devices[0], tr.Device(0)
	events, requested, reserved := l.last()
	if last.Events == events+1 {
		if last.Lost > 0 {
			return true, true // the event is not here to be added
		}
		more, mapped := change(d.Events.At(d.Events.Len() - 1))
		events, requested, reserved, ahead = events+1, requested+more, reserved+mapped, true
	}
	if last.Events != events || last.Requested != requested || last.Reserved != reserved {
		t.Errorf("the box ends with event %d, %d bytes requested and %d reserved; the program had completed %d, %d and %d",
			last.Events, last.Requested, last.Reserved, events, requested, reserved)
	}
	if last.Lost > 0 {
		return true, ahead
	}
	if got := d.First + int64(d.Events.Len()); got != events {
		t.Errorf("the events end with number %d, want %d", got, events)
	}
	inUse, mapped := addUp(&d.Final)
	if inUse != requested || mapped != reserved {
		t.Errorf("the state adds up to %d bytes requested and %d reserved, want %d and %d: %v", inUse, mapped, requested, reserved, tr.Notices)
	}
	return false, ahead
}

func addUp(s *trace.State) (requested, reserved int64) {
	for i := range s.Segments {
		reserved += s.Segments[i].Size
		for j := range s.Segments[i].Blocks {
			requested += s.Segments[i].Blocks[j].LiveRequested()
		}
	}
	return requested, reserved
}

// memoryFolder returns a folder in memory, so that nothing waits for a
// disk.
func memoryFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "memtop-test")
	fatal.If(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}
