package cpu

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// job is one operation, cut into parts that any worker may do in any order.
type job interface {
	run(w *worker, part int)
}

// pool runs one job at a time on its workers: the caller's goroutine, which is
// worker 0, and helpers that sleep between jobs. A helper that wakes late, for
// the machine may be busy, finds the job closed and is not waited for.
type pool struct {
	workers []*worker
	wake    chan struct{} // closed by close, which ends the helpers
	helpers sync.WaitGroup

	mu     sync.Mutex // guards what follows
	idle   *sync.Cond // signalled when active becomes 0
	open   bool       // the job still has parts
	active int        // helpers at work
	job    job
	parts  int
	next   atomic.Int64 // the next part to do
	fault  any          // the first panic of any worker
}

func newPool(threads int) *pool {
	p := &pool{wake: make(chan struct{}, threads)}
	p.idle = sync.NewCond(&p.mu)
	for i := range threads {
		w := &worker{}
		p.workers = append(p.workers, w)
		if i > 0 {
			p.helpers.Go(func() { p.help(w) })
		}
	}
	return p
}

// run does all parts of j and returns when they are done. A panic in a part is
// raised here.
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
	for range min(parts, len(p.workers)) - 1 {
		select {
		case p.wake <- struct{}{}:
		default: // enough helpers have been called and not yet come
			return
		}
	}
}

func (p *pool) finish() any {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = false
	for p.active > 0 {
		p.idle.Wait()
	}
	p.job = nil
	return p.fault
}

func (p *pool) help(w *worker) {
	for range p.wake {
		p.mu.Lock()
		if !p.open {
			p.mu.Unlock()
			continue
		}
		p.active++
		j, parts := p.job, p.parts
		p.mu.Unlock()
		p.work(w, j, parts)
		p.mu.Lock()
		if p.active--; p.active == 0 {
			p.idle.Signal()
		}
		p.mu.Unlock()
	}
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
