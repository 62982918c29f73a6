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
}

// diversion sends requests to a private pool.
type diversion struct {
	to    *privatePool
	takes func(Stream) bool
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
	p.users++
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
	p.users--
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

// PoolBlocks returns the addresses of the blocks handed out of a private pool,
// ascending. Safe for concurrent use.
func (a *Allocator) PoolBlocks(id trace.Pool) []uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var addrs []uint64
	for _, s := range a.segments {
		for b := s.first; b != nil; b = b.next {
			if b.allocated() && b.set.pool.id() == id {
				addrs = append(addrs, b.addr)
			}
		}
	}
	return addrs
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
	a.private = slices.DeleteFunc(a.private, func(p *privatePool) bool {
		if p.users > 0 || !some(p) {
			return false
		}
		a.releasePool(&p.pools.small)
		a.releasePool(&p.pools.large)
		return p.segments == 0
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
