package pytorch

import (
	"runtime"
	"sync"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Reading ahead
//
// The entries of a trace are read by their shape, and what an entry says depends
// on little of what came before it: on a few texts, stacks and pools that the
// memo has had for long. So workers read entries too, in blocks that the machine
// has not reached. They start at a place where an entry seems to begin, and use
// what the machine knew a while ago (a lexicon). When the machine comes to
// exactly such a place, it adopts the entries that were read there. It reads all
// other entries by itself, so reading ahead changes only the speed.
//
// Each idle goroutine takes the next block: a worker, or the machine while a
// worker is still reading the block that the machine needs.

// crew reads ahead in an input. Its fields are guarded by the mutex.
type crew struct {
	input   *input
	mutex   sync.Mutex
	changed *sync.Cond // the queue, a block in it or stopped
	queue   []*block   // taken from the input and not by the machine
	depth   int        // how long the queue may get
	lexicon *lexicon   // nil before there is one
	stopped bool
	failed  any // what a worker panicked with
	workers sync.WaitGroup
	own     scout              // the machine's
	eager   bool               // in tests: every block is read ahead, so that nothing depends on time
	chunks  chan []trace.Event // memory for events, which workers put in; never closed
}

// mostWorkers bounds the number of workers. With more of them, the machine itself
// limits the speed.
const mostWorkers = 3

// While the machine reads the data before the entries, the workers prepare memory
// for entries to come: one chunk for each part of the input that is likely to
// fill it.
const (
	mostChunks = 32
	chunkInput = 4 << 20
)

// freeWorkers returns how many processors there are for workers.
func freeWorkers() int { return min(runtime.GOMAXPROCS(0)-1, mostWorkers) }

// newCrew starts reading ahead. The caller must call stop.
func newCrew(in *input, workers int) *crew {
	c := &crew{input: in, depth: 2*workers + 1, chunks: make(chan []trace.Event, mostChunks)}
	c.changed = sync.NewCond(&c.mutex)
	for range workers {
		c.workers.Go(c.work)
	}
	return c
}

// stop ends the reading and waits for the workers.
func (c *crew) stop() {
	c.mutex.Lock()
	c.stopped = true
	c.changed.Broadcast()
	c.mutex.Unlock()
	c.workers.Wait()
	for _, b := range c.queue {
		c.input.recycle(b)
	}
	c.queue = nil
}

// learn gives the workers a new lexicon.
func (c *crew) learn(l *lexicon) {
	c.mutex.Lock()
	c.lexicon = l
	c.mutex.Unlock()
}

// take takes the next block from the input, nil if the queue is full or the input
// has ended. The mutex must be held: blocks come in order.
func (c *crew) take() *block {
	if c.input.ended || c.stopped || len(c.queue) >= c.depth {
		return nil
	}
	b := c.input.read()
	c.queue = append(c.queue, b)
	return b
}

// work takes blocks and reads ahead in them until it is stopped.
func (c *crew) work() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var s scout
	for !c.stopped {
		b := c.take()
		if b != nil {
			c.scout(&s, b)
		}
		if !c.stock() && b == nil {
			c.changed.Wait()
		}
	}
}

// stock prepares memory for the machine's events, and reports whether it prepared
// any. The mutex is held before and after.
func (c *crew) stock() bool {
	if int64(len(c.chunks)) >= min(c.input.left()/chunkInput, int64(cap(c.chunks))) {
		return false
	}
	c.mutex.Unlock()
	defer c.mutex.Lock()
	select {
	case c.chunks <- trace.NewChunk():
	default: // another worker was first
	}
	return true
}

// scout reads ahead in a block. The mutex is held before and after.
func (c *crew) scout(s *scout, b *block) {
	l := c.lexicon
	c.mutex.Unlock()
	defer func() {
		problem := recover() // the machine's goroutine is to have it
		c.mutex.Lock()
		if problem != nil {
			c.failed = problem
		}
		b.done = true
		c.changed.Broadcast()
	}()
	s.read(l, b)
}

// next returns the next block for the machine. It reads ahead while a worker is
// still at that block.
func (c *crew) next() *block {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for c.eager && len(c.queue) == 0 || len(c.queue) > 0 && !c.queue[0].done {
		if b := c.take(); b != nil {
			c.scout(&c.own, b)
		} else {
			c.changed.Wait()
		}
	}
	if c.failed != nil {
		panic(c.failed)
	}
	if len(c.queue) == 0 && !c.eager {
		return c.input.read() // no one has begun with it, and the machine reads it at once
	}
	b := c.queue[0]
	c.queue = append(c.queue[:0], c.queue[1:]...)
	c.changed.Broadcast()
	return b
}
