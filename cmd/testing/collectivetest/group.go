// Package collectivetest makes groups whose members are goroutines of one
// process, for tests of code that uses a group.
package collectivetest

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device"
)

// Meeting is the state that the members of a group share. It is safe for
// concurrent use.
type Meeting struct {
	size  int
	mu    sync.Mutex
	turns map[int]*turn // by number
	gone  error         // a member has left
}

// turn is one operation of all members.
type turn struct {
	given []any
	here  int
	done  chan struct{}
	err   error
}

// New returns the members of a new group.
func New(size int) []collective.Group {
	m := &Meeting{size: size, turns: make(map[int]*turn)}
	list := make([]collective.Group, size)
	for i := range list {
		list[i] = &member{meeting: m, rank: i}
	}
	return list
}

type member struct {
	meeting *Meeting
	rank    int
	next    int
}

// operands are the arrays of one member.
type operands struct{ dst, src device.Array }

// meet waits for all members. The last one to come runs f on the arguments of
// all.
func (m *member) meet(given any, f func(all []any)) collective.Pending {
	p := m.meeting
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone != nil {
		t := &turn{done: make(chan struct{}), err: p.gone}
		close(t.done)
		return (*pending)(t)
	}
	t := p.turns[m.next]
	if t == nil {
		t = &turn{given: make([]any, p.size), done: make(chan struct{})}
		p.turns[m.next] = t
	}
	t.given[m.rank] = given
	if t.here++; t.here == p.size {
		f(t.given)
		close(t.done)
		delete(p.turns, m.next)
	}
	m.next++
	return (*pending)(t)
}

type pending turn

func (p *pending) Wait() error {
	<-p.done
	return p.err
}

// Leave makes a member leave like a process that dies: operations that wait for
// it fail, and so do all later operations.
func Leave(g collective.Group) {
	m := g.(*member)
	p := m.meeting
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = fmt.Errorf("rank %d has gone", m.rank)
	for _, t := range p.turns {
		t.err = p.gone
		close(t.done)
	}
	clear(p.turns)
}

func (m *member) Rank() int { return m.rank }

func (m *member) Size() int { return m.meeting.size }

func (m *member) AllReduce(a device.Array) collective.Pending {
	return m.meet(operands{a, a}, func(all []any) {
		sum := sumOf(all)
		for _, o := range all {
			copy(floats(o.(operands).dst), sum)
		}
	})
}

func (m *member) ReduceScatter(dst, src device.Array) collective.Pending {
	return m.meet(operands{dst, src}, func(all []any) {
		sum := sumOf(all)
		for i, o := range all {
			part := floats(o.(operands).dst)
			copy(part, sum[i*len(part):])
		}
	})
}

func (m *member) AllGather(dst, src device.Array) collective.Pending {
	return m.meet(operands{dst, src}, func(all []any) {
		var whole []byte
		for _, o := range all {
			whole = append(whole, bytes(o.(operands).src)...)
		}
		for _, o := range all {
			copy(bytes(o.(operands).dst), whole)
		}
	})
}

func (m *member) Broadcast(a device.Array, root int) collective.Pending {
	return m.meet(operands{a, a}, func(all []any) {
		from := bytes(all[root].(operands).src)
		for _, o := range all {
			copy(bytes(o.(operands).dst), from)
		}
	})
}

func (m *member) Host() collective.Group { return m }

func (m *member) Barrier() error { return m.meet(nil, func([]any) {}).Wait() }

func (*member) Close() error { return nil }

// sumOf adds the sources of all members, in the order of their ranks.
func sumOf(all []any) []float32 {
	sum := make([]float32, all[0].(operands).src.Len)
	for _, o := range all {
		for i, x := range floats(o.(operands).src) {
			sum[i] += x
		}
	}
	return sum
}

func floats(a device.Array) []float32 {
	return unsafe.Slice((*float32)(pointer(a.Addr)), a.Len)
}

func bytes(a device.Array) []byte {
	return unsafe.Slice((*byte)(pointer(a.Addr)), int64(a.Len)*a.DType.Size())
}

// pointer returns the address of memory that is not Go's, or is kept by the caller.
func pointer(address uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }
