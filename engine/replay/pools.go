package replay

import (
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/trace"
)

// divertTo sends requests to a pool, and keeps the pool in use.
func divertTo(a *alloc.Allocator, id trace.Pool) (end func()) {
	if id == (trace.Pool{}) || a.BeginPool(id, nil) != nil {
		return func() {}
	}
	return func() { _ = a.EndPool(id) } // begun above
}

// makeWhole makes pools that hand their blocks out whole, if the release has such.
func makeWhole(a *alloc.Allocator, pools []trace.Pool) {
	for _, id := range pools {
		_ = a.MakePool(id, alloc.PoolOptions{NoSplit: true}) // the replay shows whether that was right
	}
}
