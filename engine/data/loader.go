package data

import (
	"context"
	"fmt"
	"sync"
)

// LoaderOptions say how a Loader makes batches. Batch is required.
type LoaderOptions struct {
	Batch int    // samples in a batch
	Seed  uint64 // of the order of samples
	// Part and Parts say that each batch is one part of a larger batch, number Part
	// of Parts: each process of a run has its own part. Parts 0 means 1.
	Part, Parts int
	// Start is the number of the first batch. To continue a run, use its last
	// Position.
	Start int64
	// Workers is how many goroutines prepare batches; 0 means one.
	Workers int
	// Prefetch is how many batches each worker may have ready; 0 means one.
	Prefetch int
}

// Staged is for how many batches there is memory: those that are ready, and for
// each worker one that it fills or has handed to the caller.
func (o LoaderOptions) Staged() int { return max(o.Workers, 1) * (max(o.Prefetch, 1) + 1) }

// Loader prepares batches ahead of time. Next and Close belong to one goroutine.
type Loader struct {
	set      Dataset
	options  LoaderOptions
	position int64
	workers  []*worker
	cancel   context.CancelFunc
	wait     sync.WaitGroup
}

// worker prepares every Workers-th batch, so the order of batches never depends
// on which worker is faster.
type worker struct {
	ready chan *Batch // closed by the worker when it stops
	free  chan *Batch // staging buffers that may be filled; never closed
	err   error       // why the worker stopped; valid after ready is closed
}

// NewLoader starts the workers. The caller closes the loader.
func NewLoader(set Dataset, o LoaderOptions) (*Loader, error) {
	if o.Batch < 1 || o.Start < 0 {
		return nil, fmt.Errorf("batches of %d samples from number %d on: neither can be", o.Batch, o.Start)
	}
	o.Workers, o.Prefetch, o.Parts = max(o.Workers, 1), max(o.Prefetch, 1), max(o.Parts, 1)
	ctx, cancel := context.WithCancel(context.Background())
	l := &Loader{set: set, options: o, position: o.Start, cancel: cancel}
	for range o.Workers {
		w := &worker{ready: make(chan *Batch, o.Prefetch), free: make(chan *Batch, o.Prefetch+1)}
		for range o.Prefetch + 1 {
			w.free <- newBatch(set.Spec(), o.Batch, w.free)
		}
		l.workers = append(l.workers, w)
	}
	// They read the list of workers, which is complete only now.
	for i, w := range l.workers {
		l.wait.Go(func() { l.work(ctx, w, o.Start+int64(i)) })
	}
	return l, nil
}

// Spec says what the samples are.
func (l *Loader) Spec() Spec { return l.set.Spec() }

// Position returns the number of the batch that Next returns next.
func (l *Loader) Position() int64 { return l.position }

// Next returns the next batch, waiting until it is ready. The caller releases
// it. After an error the loader is at its end and returns the error again.
func (l *Loader) Next(ctx context.Context) (*Batch, error) {
	w := l.workers[(l.position-l.options.Start)%int64(len(l.workers))]
	select {
	case b, ok := <-w.ready:
		if !ok {
			return nil, w.err
		}
		l.position++
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close stops the workers and waits for them. Batches that the caller has taken
// stay readable.
func (l *Loader) Close() {
	l.cancel()
	l.wait.Wait()
}

func (l *Loader) work(ctx context.Context, w *worker, first int64) {
	defer close(w.ready)
	shuffle := &shuffle{set: l.set, seed: l.options.Seed, part: int64(l.options.Part), parts: int64(l.options.Parts), epoch: -1}
	for number := first; ; number += int64(len(l.workers)) {
		select {
		case b := <-w.free:
			if w.err = shuffle.fill(b, number); w.err != nil {
				return
			}
			select {
			case w.ready <- b:
			case <-ctx.Done():
				w.err = ctx.Err()
				return
			}
		case <-ctx.Done():
			w.err = ctx.Err()
			return
		}
	}
}

// shuffle knows which samples a batch holds: all samples of the set once, then
// all again in another order, without a gap at the seam.
type shuffle struct {
	set   Dataset
	seed  uint64
	part  int64 // of parts
	parts int64
	epoch int64
	order order
}

func (s *shuffle) fill(b *Batch, number int64) error {
	b.Number = number
	n := int64(s.set.Len())
	for i := range b.Size {
		k := (number*s.parts+s.part)*int64(b.Size) + int64(i)
		if epoch := k / n; epoch != s.epoch {
			s.epoch, s.order = epoch, newOrder(int(n), s.seed, uint64(epoch))
		}
		if err := s.set.Read(s.order.at(int(k%n)), b.sample(i)); err != nil {
			return err
		}
	}
	return nil
}
