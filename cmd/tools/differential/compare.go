package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/trace"
)

// comparison runs a program on our allocator and compares what it does with
// PyTorch's events. It is the allocator's driver and recorder: a device of the same
// size whose addresses are those that PyTorch got.
type comparison struct {
	a       *alloc.Allocator
	torch   *torch
	program *program
	looks   int // at events
	*answer     // PyTorch's
	ours    []event
	during  []operation // for each of ours
	doing   operation

	free, total int64
	sizes       map[uint64]int64
	made        uint64 // the last segment that PyTorch did not get
	ranges      []addresses
	blocks      map[int]alloc.Allocation
	uses        map[int]int // of each pool of graphs
	last        alloc.Event
}

// addresses are what we reserved once, at the same place from the first as PyTorch's.
type addresses struct {
	from, size, theirs uint64 // theirs is 0 until an event tells it
}

// firstAddress is where our addresses begin.
const firstAddress = 1 << 61

// compare runs a program on our allocator.
func compare(t *torch, settings string, p *program, theirs *answer) (*comparison, error) {
	c := &comparison{
		torch: t, program: p, answer: theirs, free: t.free, total: t.total, sizes: make(map[uint64]int64), made: 1 << 60,
		blocks: make(map[int]alloc.Allocation), uses: make(map[int]int),
	}
	rules, err := alloc.RulesOf(t.version)
	if err != nil {
		return nil, err
	}
	a, err := alloc.New(c, alloc.Options{Config: settings, Rules: rules})
	if err != nil {
		return nil, err
	}
	c.a = a
	a.SetFraction(p.fraction)
	a.Observe(c)
	for _, o := range p.operations() {
		if c.broken && c.next() == nil {
			break
		}
		c.doing = o
		if err := c.do(o); err != nil {
			return nil, fmt.Errorf("%s: %w", o, err)
		}
	}
	return c, nil
}

// difference returns the first difference between PyTorch's events and ours, "" for
// none.
func (c *comparison) difference() string {
	for i, ours := range c.ours {
		switch {
		case i == len(c.events) && c.broken:
			return ""
		case i == len(c.events):
			return fmt.Sprintf("event %d, during %q: PyTorch has ended, ours has %s", i, c.during[i], ours)
		case ours != c.events[i]:
			return fmt.Sprintf("event %d, during %q: PyTorch has %s, ours %s", i, c.during[i], c.events[i], ours)
		}
	}
	if len(c.ours) < len(c.events) {
		return "ours has ended, PyTorch has " + c.events[len(c.ours)].String()
	}
	return ""
}

// sorted is the comparison without the order of what one call completes or gives back.
func (c *comparison) sorted() *comparison {
	other := *c
	other.answer, other.ours = &answer{events: sorted(c.events)}, sorted(c.ours)
	return &other
}

// gives reports whether one call may make many events of a kind.
func gives(k trace.Kind) bool {
	return k == trace.FreeCompleted || k == trace.SegmentFree || k == trace.SegmentUnmap
}

func sorted(events []event) []event {
	list := slices.Clone(events)
	for from, to := 0, 0; from < len(list); from = to {
		for to = from + 1; to < len(list) && list[to].kind == list[from].kind && gives(list[to].kind); to++ {
		}
		slices.SortFunc(list[from:to], func(x, y event) int { return cmp.Compare(x.addr, y.addr) })
	}
	return list
}

func (c *comparison) do(o operation) error {
	b, known := c.blocks[o.id]
	t, p := c.torch, c.pools[o.id]
	switch o.kind {
	case request:
		b, err := c.a.Alloc(o.bytes, alloc.Stream(t.streams[o.extra]), alloc.Tag{})
		if err == nil {
			c.blocks[o.id] = b
		} else if !errors.Is(err, alloc.ErrNoMemory) {
			return err
		}
	case free:
		if known {
			c.a.Free(b)
		}
		delete(c.blocks, o.id)
	case record:
		if known {
			c.a.RecordStream(b, alloc.Stream(t.streams[o.extra]))
		}
	case empty:
		c.a.EmptyCache()
	case begin:
		c.uses[o.id]++
		if made(o.id) && c.uses[o.id] == 1 {
			if err := c.a.MakePool(p.id, p.options); err != nil {
				return err
			}
		}
		return c.a.BeginPool(p.id, nil)
	case end:
		err := c.a.EndPool(p.id)
		if made(o.id) {
			err = errors.Join(err, c.a.ReleasePool(p.id))
		}
		return err
	case drop:
		return c.drop(o.id, p.id)
	}
	return nil
}

// drop ends the uses of a pool: the program's own, or that of each graph.
func (c *comparison) drop(number int, id trace.Pool) error {
	if made(number) {
		err := c.a.ReleasePool(id)
		c.a.EmptyPool(id)
		return err
	}
	for range c.uses[number] {
		if err := c.a.ReleasePool(id); err != nil {
			return err
		}
	}
	return nil
}

// Record keeps an event.
func (c *comparison) Record(_ int, e trace.Event) {
	ours := event{e.Kind, e.Addr, e.Size, c.a.Names().Tables().Streams[e.Stream]}
	c.translate(&ours)
	c.ours = append(c.ours, ours)
	c.during = append(c.during, c.doing)
}

func (e event) String() string {
	return fmt.Sprintf("%s of %d bytes at %#x on stream %d", e.kind, e.size, e.addr, e.stream)
}

func (c *comparison) next() *event {
	if len(c.ours) >= len(c.events) {
		return nil
	}
	return &c.events[len(c.ours)]
}

// translate gives an event of ours in addresses that we reserved PyTorch's. What
// PyTorch reserves is not an event, so where that lies is known with the first memory
// in it.
func (c *comparison) translate(e *event) {
	at := slices.IndexFunc(c.ranges, func(r addresses) bool { return e.addr-r.from < r.size })
	if at < 0 || e.kind == trace.OOM {
		return
	}
	r := &c.ranges[at]
	if next := c.next(); r.theirs == 0 && next != nil {
		r.theirs = next.addr - (e.addr - r.from)
	}
	e.addr += r.theirs - r.from
}

// Malloc gives the address that PyTorch got.
func (c *comparison) Malloc(size int64) (uint64, error) {
	if c.free < size {
		return 0, alloc.ErrNoMemory
	}
	c.free -= size
	c.made += uint64(size)
	addr := c.made
	if e := c.next(); e != nil && e.kind == trace.SegmentAlloc {
		addr = e.addr
	}
	c.sizes[addr] = size
	return addr, nil
}

// Free takes memory back.
func (c *comparison) Free(addr uint64) {
	c.free += c.sizes[addr]
	delete(c.sizes, addr)
}

// MemInfo returns what is left.
func (c *comparison) MemInfo() (free, total int64) { return c.free, c.total }

// Reserve gives the lowest addresses that are free, as the imitated GPU does.
func (c *comparison) Reserve(size int64) (uint64, error) {
	r := addresses{from: firstAddress, size: uint64(size)}
	slices.SortFunc(c.ranges, func(x, y addresses) int { return cmp.Compare(x.from, y.from) })
	for _, other := range c.ranges {
		if other.from < r.from+r.size {
			r.from = other.from + other.size
		}
	}
	c.ranges = append(c.ranges, r)
	return r.from, nil
}

// Unreserve takes addresses back.
func (c *comparison) Unreserve(addr uint64, _ int64) {
	c.ranges = slices.DeleteFunc(c.ranges, func(r addresses) bool { return r.from == addr })
}

// Map counts.
func (c *comparison) Map(_ uint64, size int64) error {
	if c.free < size {
		return alloc.ErrNoMemory
	}
	c.free -= size
	return nil
}

// Unmap counts.
func (c *comparison) Unmap(_ uint64, size int64) { c.free += size }

// RecordEvent returns an event. Events are all alike, as on the imitated GPU.
func (c *comparison) RecordEvent(alloc.Stream) alloc.Event {
	c.last++
	return c.last
}

// EventReady reports whether this is one of the looks that find an event.
func (c *comparison) EventReady(alloc.Event) bool {
	c.looks++
	return c.looks%c.program.late == 0
}

// SyncEvent has nothing to wait for.
func (c *comparison) SyncEvent(alloc.Event) {}
