package cpu

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// job is one operation, divided into parts that any worker may do in any order.
type job interface {
	run(w *worker, part int)
}

// pool runs one job at a time on its workers: the caller's goroutine, which is
// worker 0, and helpers. On a busy machine a helper may wake late. It finds the
// job closed, and run does not wait for it.
//
// A step is hundreds of operations, most of them shorter than it takes the system
// to wake a thread. So an idle worker spins for a moment before it sleeps: a
// helper for the next job, the caller for the end of the helpers' parts.
type pool struct {
	workers  []*worker
	wake     chan struct{} // closed by close, which ends the helpers
	helpers  sync.WaitGroup
	patience time.Duration // how long a worker spins before it sleeps, 0 if each does not have its own processor

	jobs    atomic.Uint32 // how many were started
	looking atomic.Int32  // helpers that spin for the next job
	active  atomic.Int32  // helpers at work; changed under mu
	next    atomic.Int64  // the next part to do

	mu    sync.Mutex // guards what follows
	idle  *sync.Cond // signalled when active becomes 0
	open  bool       // the job still has parts
	job   job
	parts int
	fault any // the first panic of any worker
}

// How long a worker spins before it sleeps, and after how many checks it lets
// other goroutines run.
const (
	patience      = 50 * time.Microsecond
	uninterrupted = 2_000
)

// glance spins until done or the end of its patience, and reports whether done
// was true.
func (p *pool) glance(done func() bool) bool {
	if p.patience == 0 {
		return false
	}
	for begin := time.Now(); time.Since(begin) < p.patience; runtime.Gosched() {
		for range uninterrupted {
			if done() {
				return true
			}
		}
	}
	return false
}

func newPool(threads int) *pool {
	p := &pool{wake: make(chan struct{}, threads)}
	p.idle = sync.NewCond(&p.mu)
	if threads <= runtime.GOMAXPROCS(0) {
		p.patience = patience
	}
	for i := range threads {
		w := &worker{}
		p.workers = append(p.workers, w)
		if i > 0 {
			p.helpers.Go(func() { p.help(w) })
		}
	}
	return p
}

// run does all parts of j and returns when they are done. run raises a panic of a
// part again.
func (p *pool) run(j job, parts int) {
	if parts <= 0 {
		return
	}
	p.start(j, parts)
	p.work(p.workers[0], j, parts)
	if fault := p.finish(); fault != nil {
		panic(fault)
	}
}

func (p *pool) start(j job, parts int) {
	p.mu.Lock()
	p.job, p.parts, p.open, p.fault = j, parts, true, nil
	p.next.Store(0)
	p.mu.Unlock()
	wanted := min(parts, len(p.workers)) - 1
	if wanted == 0 {
		return
	}
	p.jobs.Add(1)
	for range wanted - int(p.looking.Load()) {
		select {
		case p.wake <- struct{}{}:
		default: // enough helpers have been woken and have not started yet
			return
		}
	}
}

func (p *pool) finish() any {
	p.mu.Lock()
	p.open = false
	p.mu.Unlock()
	p.glance(func() bool { return p.active.Load() == 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.active.Load() > 0 {
		p.idle.Wait()
	}
	p.job = nil
	return p.fault
}

func (p *pool) help(w *worker) {
	for range p.wake {
		for seen := p.jobs.Load(); ; seen = p.jobs.Load() {
			p.join(w)
			if !p.look(seen) {
				break
			}
		}
	}
}

// look spins for a moment, and reports whether a new job was started. If not, the
// next start wakes a helper.
func (p *pool) look(seen uint32) bool {
	changed := func() bool { return p.jobs.Load() != seen }
	p.looking.Add(1)
	found := p.glance(changed)
	p.looking.Add(-1)
	return found || changed()
}

// join takes part in the job, if it is open.
func (p *pool) join(w *worker) {
	p.mu.Lock()
	if !p.open {
		p.mu.Unlock()
		return
	}
	p.active.Add(1)
	j, parts := p.job, p.parts
	p.mu.Unlock()
	p.work(w, j, parts)
	p.mu.Lock()
	if p.active.Add(-1) == 0 {
		p.idle.Signal()
	}
	p.mu.Unlock()
}

// work does parts of j until none is left. A panic ends the job for all
// workers.
func (p *pool) work(w *worker, j job, parts int) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			p.next.Store(int64(parts))
			p.mu.Lock()
			if p.fault == nil {
				p.fault = explain(r)
			}
			p.mu.Unlock()
		}
	}()
	for part := p.next.Add(1) - 1; part < int64(parts); part = p.next.Add(1) - 1 {
		j.run(w, int(part))
	}
}

func (p *pool) close() {
	close(p.wake)
	p.helpers.Wait()
}
