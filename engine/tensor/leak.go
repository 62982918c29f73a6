package tensor

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/memtop/memtop/engine/alloc"
)

// Lost storages
//
// A storage whose handles cannot be reached any more, though they were not
// released, is lost: the memory stays taken until the program ends. The garbage
// collector finds that out, if it watches the storage. To make it watch
// costs as much as an allocation, and nearly all storages live for a part of a
// step; so they are kept in a list, which costs nothing, and only those that
// still live when a stretch of the program has ended are watched.

// Leak is a storage that the program lost without releasing it: see
// [Device.OnLeak].
type Leak struct {
	Allocation alloc.Allocation
	Bytes      int64 // that were requested
	Label      alloc.Label
}

// OnLeak has f called for every storage that the garbage collector finds while
// handles on it are still out: its memory is lost. Only storages that are made
// from now on, and that live in a [Device.Settle], are watched. f is called on a
// goroutine of the runtime's; nil ends the watch of new storages.
func (d *Device) OnLeak(f func(Leak)) { d.onLeak = f }

// String says what was lost.
func (l Leak) String() string { return describe(l.Bytes, l.Label) }

// watch is how a storage is watched. It is a member of the list of young ones,
// or has a cleanup, or neither when no one watches.
type watch struct {
	state      watchState
	prev, next *Storage
	cleanup    runtime.Cleanup
}

type watchState uint8

const (
	unwatched watchState = iota
	young
	watched
)

// remember puts a new storage on the list of young ones.
func (d *Device) remember(s *Storage) {
	if d.onLeak == nil {
		return
	}
	s.watch.state, s.watch.next = young, d.young
	if d.young != nil {
		d.young.watch.prev = s
	}
	d.young = s
}

// forget ends the watch of a storage that is released.
func (d *Device) forget(s *Storage) {
	switch s.watch.state {
	case young:
		d.unlink(s)
	case watched:
		s.watch.cleanup.Stop()
	case unwatched:
	}
}

func (d *Device) unlink(s *Storage) {
	w := &s.watch
	if w.prev != nil {
		w.prev.watch.next = w.next
	} else {
		d.young = w.next
	}
	if w.next != nil {
		w.next.watch.prev = w.prev
	}
	*w = watch{}
}

// Settle says that a stretch of the program has ended, such as a step: what is
// alive now should be so for a reason. From here on it is watched for being
// lost, if [Device.OnLeak] was called. What lives from one call to the next is
// watched once; what was made and released between two calls costs nothing.
func (d *Device) Settle() {
	for d.young != nil {
		s := d.young
		d.unlink(s)
		if d.onLeak == nil {
			continue
		}
		s.watch.state = watched
		s.watch.cleanup = runtime.AddCleanup(s, d.onLeak, Leak{s.block, s.bytes, s.label})
	}
}

// describe says in a few words what memory is for.
func describe(n int64, label alloc.Label) string {
	what := fmt.Sprintf("%d bytes", n)
	if label.Shape != "" {
		what = label.DType + " " + label.Shape
	}
	return strings.TrimSpace(label.Layer+" "+label.Role) + ", " + what
}
