package job

import (
	"slices"
	"sync"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// Clients are the clients of the ranks to which memtop is attached. The screen
// closes those that it drops; closing one again does nothing. It is safe for
// concurrent use.
type Clients struct {
	mu    sync.Mutex
	ready *attach.Client // the first client, nil once it was taken
	all   []*attach.Client
}

// NewClients returns clients that begin with an existing one.
func NewClients(ready *attach.Client) *Clients { return &Clients{ready: ready} }

// Open returns the client of a process.
func (o *Clients) Open(p attach.Process, dial func() (*attach.Client, error)) (trace.Source, error) {
	if c := o.take(p); c != nil {
		return c, nil
	}
	c, err := dial()
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(slices.DeleteFunc(o.all, func(old *attach.Client) bool { return p.Same(old.Process()) }), c)
	return c, nil
}

// take returns the existing client, once.
func (o *Clients) take(p attach.Process) *attach.Client {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.ready
	if c == nil || !p.Same(c.Process()) {
		return nil
	}
	o.ready, o.all = nil, append(o.all, c)
	return c
}

// Close closes all of them.
func (o *Clients) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ready != nil {
		_ = o.ready.Close() // it was only read from
	}
	for _, c := range o.all {
		_ = c.Close() // the screen may have closed it already
	}
}
