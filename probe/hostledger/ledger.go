//go:build linux

package hostledger

import (
	"slices"
	"sync"
	"time"

	"github.com/memtop/memtop/snapshots/hostmemory"
	"github.com/memtop/memtop/snapshots/trace"
)

// Ledger measures a process. It is safe for concurrent use.
type Ledger struct {
	pid     int
	mu      sync.Mutex
	seen    map[int]int64 // anonymous memory of each worker when it was first seen
	shares  shares
	walking chan walked // of the walk that goes on, has room for its result; nil without one
	walk    time.Time   // when the next one may begin
	files   files
}

// shares is what page tables said: what the workers have beside what they share with the
// process, and how much anonymous memory each had at that time, with what it shares.
type shares struct {
	more memory
	then map[int]int64
}

// walked is the result of a walk through page tables.
type walked struct {
	shares  shares
	foreign map[uint64]bool // inodes that any process has mapped, nil if that was not asked
	cost    time.Duration
}

const (
	// share is which part of a processor page tables and lists of files may take at most:
	// the kernel needs about 70 ms for the page tables of a GiB.
	share      = 100
	walkEvery  = time.Second
	walkWithin = 50 * time.Millisecond // a gauge waits for a walk
)

// New returns a ledger of a process that began at some time.
func New(pid int, began time.Time) *Ledger {
	return &Ledger{pid: pid, seen: make(map[int]int64), files: newFiles(pid, began)}
}

// Measure fills in a gauge of the machine, with what the kernel says now. If it has a
// ledger, that has what the process says of itself. forked are processes that it has
// started, which may have ended. Measure reports false if the process has ended.
func (l *Ledger) Measure(g *trace.Gauge, forked []int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, known := statusOf(l.pid)
	total, available := hostmemory.Machine()
	if !known || total == 0 {
		return false
	}
	limit := hostmemory.LimitOf(l.pid)
	g.Time, g.Total, g.Used, g.Process = time.Now().UnixMicro(), total, total-available, own.resident
	g.Others, g.Limit, g.LimitUsed, g.Kills = max(0, g.Used-g.Process), limit.Bytes, limit.Used, limit.Kills
	g.Utilisation, g.Temperature, g.Power = trace.Unknown, trace.Unknown, trace.Unknown
	if g.Host != nil {
		l.complete(g.Host, &own, forked)
	}
	return true
}

// complete adds to what the process says of itself.
func (l *Ledger) complete(h *trace.Host, own *status, forked []int) {
	h.Anonymous, h.Files, h.Shared = own.anonymous, own.files, own.shared
	h.Swapped, h.Writable = own.swapped, own.writable
	if limit := spaceLimit(l.pid); limit > 0 {
		h.AddressSpace, h.AddressSpaceLimit = own.space, limit
	}
	workers := workersOf(l.pid)
	l.ofGroup(h, workers)
	l.follow(workers, h.GroupOthers > 0 || h.Group == 0)
	l.ofWorkers(h, workers)
	l.files.remember(forked, workers)
	l.files.list(h, workers)
}

// ofGroup adds what the kernel charges the control group.
func (l *Ledger) ofGroup(h *trace.Host, workers []int) {
	c, known := hostmemory.ChargeOf(l.pid)
	if !known {
		return
	}
	h.Group, h.GroupAnonymous, h.GroupFiles = c.Bytes, c.Anonymous, c.Files
	h.GroupShared, h.GroupKernel = c.Shared, c.Kernel
	for _, pid := range c.Processes {
		if pid != l.pid && !slices.Contains(workers, pid) {
			h.GroupOthers++
		}
	}
}

// follow walks through the page tables now and then if there are workers. It need not
// where the group has nobody else: then its sums say what the workers have.
func (l *Ledger) follow(workers []int, shared bool) {
	due := shared && len(workers) > 0 || l.files.asks
	if l.walking == nil && due && time.Now().After(l.walk) {
		l.walking = make(chan walked, 1)
		go func(c chan<- walked, foreign bool) { c <- walk(l.pid, workers, foreign) }(l.walking, l.files.asks)
		late := time.NewTimer(walkWithin)
		defer late.Stop()
		select {
		case w := <-l.walking:
			l.take(&w)
		case <-late.C:
		}
		return
	}
	select {
	case w := <-l.walking:
		l.take(&w)
	default:
	}
}

func (l *Ledger) take(w *walked) {
	l.shares, l.walking, l.walk = w.shares, nil, time.Now().Add(max(walkEvery, share*w.cost))
	if w.foreign != nil {
		l.files.foreign = w.foreign
	}
}

// walk asks for the parts of shared pages. They count in parts, so the parts of all
// together are what all have.
func walk(pid int, workers []int, foreign bool) (w walked) {
	start := time.Now()
	w.shares.then = make(map[int]int64)
	for _, worker := range workers {
		if s, known := statusOf(worker); known {
			w.shares.then[worker] = s.anonymous
		}
	}
	sum := memory{}
	for _, each := range append([]int{pid}, workers...) {
		sum = sum.plus(proportional(each), 1)
	}
	own, _ := statusOf(pid)
	w.shares.more = sum.plus(own.memory, -1).least(0)
	if foreign {
		w.foreign = mappedByAny()
	}
	w.cost = time.Since(start)
	return w
}

// ofWorkers adds how many workers there are and what they have. What one has got since
// its page tables were read, it shares with nobody.
func (l *Ledger) ofWorkers(h *trace.Host, workers []int) {
	resident := make(map[int]int64)
	for _, pid := range workers {
		s, known := statusOf(pid)
		if !known {
			continue
		}
		resident[pid] = s.anonymous
		if s.anonymous > h.WorkerAnonymous || h.Worker == 0 {
			h.Worker, h.WorkerAnonymous = pid, s.anonymous
		}
	}
	h.Workers = len(resident)
	seen := l.seen
	l.seen = make(map[int]int64)
	for pid, size := range resident {
		l.seen[pid] = size
		if first, known := seen[pid]; known {
			l.seen[pid] = first
		}
	}
	if len(resident) == 0 || len(l.shares.then) == 0 {
		return
	}
	h.WorkersAnonymous, h.WorkersFiles, h.WorkersShared = l.shares.more.anonymous, l.shares.more.files, l.shares.more.shared
	for pid, size := range resident {
		before, known := l.shares.then[pid]
		if !known {
			before = l.seen[pid]
		}
		h.WorkersAnonymous += max(0, size-before)
	}
}
