package alloc

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Private pools
//
// The allocator can divert requests on some streams to a private pool for a
// while, for CUDA graphs and MemPool. The pool's segments serve no other
// requests, are listed under its number, and stay until the pool is released and
// empty. While any requests are diverted, the allocator checks no events and does
// not empty the cache.

// privatePool is a pair of pools with a number.
type privatePool struct {
	id       trace.Pool
	note     trace.NoteID // of the events of its segments
	pools    poolPair
	users    int // calls of BeginPool less those of ReleasePool
	segments int // pieces of memory from the driver
	PoolOptions
}

// PoolOptions are what a program may want of a pool that it makes.
type PoolOptions struct {
	OnOOM   bool // the pool's free blocks serve requests that nothing else can
	NoSplit bool // its blocks are handed out whole
}

// diversion sends requests to a private pool.
type diversion struct {
	to    *privatePool
	takes func(Stream) bool
}

// MakePool makes a private pool, which has one user. The error is that there is one
// with that number, or that the rules are of a release without such pools. Safe for
// concurrent use.
func (a *Allocator) MakePool(id trace.Pool, o PoolOptions) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id == (trace.Pool{}) || a.privatePool(id) != nil {
		return fmt.Errorf("there is a pool %v", id)
	}
	if err := a.rules.makes(o); err != nil {
		return err
	}
	p := a.newPrivatePool(id)
	p.users, p.PoolOptions = 1, o
	if o.OnOOM {
		a.spares.add(p)
	}
	return nil
}

// BeginPool sends later requests to the private pool with that number, until
// EndPool: requests on streams for which takes returns true, or all requests if
// takes is nil. It makes the pool if there is none, and counts one more user of
// it. The allocator holds its lock when it calls takes. Safe for concurrent use.
func (a *Allocator) BeginPool(id trace.Pool, takes func(Stream) bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if id == (trace.Pool{}) {
		return fmt.Errorf("pool %v is the default one", id)
	}
	if a.diversionTo(id) >= 0 {
		return fmt.Errorf("requests already go to pool %v", id)
	}
	if takes == nil {
		takes = func(Stream) bool { return true }
	}
	p := a.privatePool(id)
	if p == nil {
		p = a.newPrivatePool(id)
	}
	if p.users++; p.users == 1 {
		a.unowned.remove(p)
	}
	a.diverted = append(a.diverted, diversion{p, takes})
	return nil
}

// EndPool ends what BeginPool began. Blocks of the pool stay valid. Safe for
// concurrent use.
func (a *Allocator) EndPool(id trace.Pool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.diversionTo(id)
	if i < 0 {
		return fmt.Errorf("no requests go to pool %v", id)
	}
	a.diverted = slices.Delete(a.diverted, i, i+1)
	return nil
}

// ReleasePool removes one user of the pool. After the last one, its free memory
// goes back to the driver with the rest of the cache. Safe for concurrent use.
func (a *Allocator) ReleasePool(id trace.Pool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.privatePool(id)
	if p == nil || p.users == 0 {
		return fmt.Errorf("pool %v is not in use", id)
	}
	if p.users--; p.users == 0 {
		a.unowned.add(p)
		a.spares.remove(p)
	}
	return nil
}

// spare takes a free block out of a pool that is kept for when memory runs out. The
// pool's memory does not grow for that. A request that goes to a private pool gets none.
func (a *Allocator) spare(q *request) *block {
	if q.pool.owner != nil {
		return nil
	}
	for p := range a.spares.all() {
		other := *q
		other.grows = q.grows && a.rules.sparesExpandable()
		other.from(p.pools.of(q.rounded))
		if b := a.take(&other); b != nil {
			*q = other
			return b
		}
	}
	return nil
}

// EmptyPool gives the unused memory of one private pool back to the driver, if the
// pool has no users. It first waits for the pool's pending blocks. Safe for
// concurrent use.
func (a *Allocator) EmptyPool(id trace.Pool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tick()
	if p := a.privatePool(id); p != nil && p.users == 0 {
		a.synchronize(func(b *block) bool { return b.set.pool.owner == p })
		a.releasePrivate(func(q *privatePool) bool { return q == p })
	}
}

func (a *Allocator) privatePool(id trace.Pool) *privatePool {
	for _, p := range a.private {
		if p.id == id {
			return p
		}
	}
	return nil
}

// newPrivatePool adds a private pool without users.
func (a *Allocator) newPrivatePool(id trace.Pool) *privatePool {
	p := &privatePool{id: id, note: a.names.poolNote(id)}
	p.pools = a.rules.newPoolPair(p)
	a.private = append(a.private, p)
	return p
}

func (a *Allocator) diversionTo(id trace.Pool) int {
	return slices.IndexFunc(a.diverted, func(d diversion) bool { return d.to.id == id })
}

// divertedTo returns the private pool for requests on a stream, or nil.
func (a *Allocator) divertedTo(s Stream) *privatePool {
	for _, d := range a.diverted {
		if d.takes(s) {
			return d.to
		}
	}
	return nil
}

// releasePrivate empties those of some private pools that have no users, and
// forgets those that then have no memory.
func (a *Allocator) releasePrivate(some func(*privatePool) bool) {
	a.unowned.removeIf(func(p *privatePool) bool {
		if !some(p) {
			return false
		}
		a.releasePool(&p.pools.small)
		a.releasePool(&p.pools.large)
		if p.segments > 0 {
			return false
		}
		a.private = slices.DeleteFunc(a.private, func(q *privatePool) bool { return q == p })
		return true
	})
}

// capturing reports whether requests are diverted as in the capture of a graph:
// then no event may be looked at.
func (a *Allocator) capturing() bool {
	for _, d := range a.diverted {
		if d.to.id[0] != 0 || a.rules.poolsAreCaptures() {
			return true
		}
	}
	return false
}
