package pytorch

import (
	"context"
	"fmt"
	"io"
	"reflect"

	"github.com/memtop/memtop/snapshots/pickle"

	"github.com/memtop/memtop/snapshots/trace"
)

// Bytes that a record takes, for the bound: in the machine, in the trace, and in
// the trace's index and report. Tables count their own.
const (
	eventBytes      = 160
	oomBytes        = 640 // beside the event: reports analyse each
	blockBytes      = 256
	segmentBytes    = 384 // beside its place in the machine
	tenantBytes     = 24
	annotationBytes = 128 // beside its place in the machine
	deviceBytes     = 256 << 10
	chunkBytes      = 40 << 14 // by which a log of events grows
)

// machine is the state of a decode: a stack of values, the memo, and the
// records made so far. Its operations do not depend on the input's encoding. It
// does not recurse, so nesting costs only stack slots.
type machine struct {
	*window
	used     int64 // bytes counted, without the interner's
	protocol int

	stack []value
	marks []int
	memo  memo
	lists table[list] // 1 and up
	dicts []dict      // 1 and up: dicts that come in pieces or are not records

	in          *trace.Interner
	fields      fields
	log         trace.EventLog
	blocks      blockTable
	segments    table[trace.Segment]
	tenants     []trace.Tenant
	annotations []trace.Annotation
	snapshot    contents
	kinds       uint32 // bit k: there is an event of kind k
	raw         rawStacks
	pendingRun  int64           // start of the run of references being read, or -1
	shape       shape           // of a trace's entries
	blockShape  shape           // of a segment's blocks
	dictStart   int64           // start of the dict begun last, or -1
	frames      []trace.FrameID // scratch
	lastNote    [trace.KindCount]noteCache
	lastStream  streamCache
	unknownKeys map[trace.StringID]int
	odd         int // fields and items with an invalid value
}

func newMachine(ctx context.Context, r io.Reader, o Options) *machine {
	m := &machine{
		window: newWindow(ctx, r, o), protocol: -1, pendingRun: -1, dictStart: -1,
		lists: table[list]{chunks: [][]list{make([]list, 1, tableChunk)}}, dicts: make([]dict, 1),
		in: trace.NewInterner(), unknownKeys: make(map[trace.StringID]int),
	}
	internNames(m.in)
	m.raw.init()
	return m
}

func (m *machine) corrupt(format string, args ...any) error {
	return &CorruptError{Offset: m.offset(), Reason: fmt.Sprintf(format, args...)}
}

// charge counts memory that the result or the machine keeps, before it is allocated.
func (m *machine) charge(bytes int64) error {
	m.used += bytes
	if m.free() < 0 {
		return m.tooMuch()
	}
	return nil
}

// free returns how many bytes may still be allocated.
func (m *machine) free() int64 { return m.room - m.used - m.in.Memory() - m.raw.held }

// weight is how often the memory of a list is counted. Values that soon become
// records are scratch. A snapshot needs next to no scratch, so a file that fills
// it is not a snapshot and is refused early.
type weight int64

const (
	kept    weight = 1
	scratch weight = 4
)

// reserve returns list with a capacity for n more items. Where that takes a
// longer array, both are counted until the items have been moved.
func reserve[T any](m *machine, list []T, n int, w weight) ([]T, error) {
	if len(list)+n <= cap(list) {
		return list, nil
	}
	const few = 1 << 10
	size := int64(reflect.TypeFor[T]().Size()) * int64(w)
	more := max(n, 4, len(list)/4)
	if len(list) < few {
		more = max(n, 4, len(list))
	}
	if err := m.charge(int64(len(list)+more) * size); err != nil {
		return list, err
	}
	longer := append(make([]T, 0, len(list)+more), list...)
	m.used -= int64(cap(list)) * size
	return longer, nil
}

func (m *machine) push(v value) error {
	if len(m.stack) == cap(m.stack) {
		var err error
		if m.stack, err = reserve(m, m.stack, 1, scratch); err != nil {
			return err
		}
	}
	m.stack = append(m.stack, v)
	return nil
}

func (m *machine) mark() error {
	if len(m.marks) == cap(m.marks) {
		var err error
		if m.marks, err = reserve(m, m.marks, 1, scratch); err != nil {
			return err
		}
	}
	m.marks = append(m.marks, len(m.stack))
	return nil
}

// floor is the lowest stack slot that may be popped: nothing below a mark.
func (m *machine) floor() int {
	if len(m.marks) == 0 {
		return 0
	}
	return m.marks[len(m.marks)-1]
}

func (m *machine) need(n int) error {
	if len(m.stack)-m.floor() < n {
		return m.corrupt("an operation finds too few values on the stack")
	}
	return nil
}

// popMark returns the values above the last mark, which stay readable until
// the next push, and cuts the stack there.
func (m *machine) popMark() ([]value, error) {
	if len(m.marks) == 0 {
		return nil, m.corrupt("an operation finds no mark on the stack")
	}
	at := m.floor()
	m.marks = m.marks[:len(m.marks)-1]
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items, nil
}

// text pushes a string.
func (m *machine) text(b []byte) error {
	id := m.in.Bytes(b)
	if err := m.charge(0); err != nil {
		return err
	}
	return m.push(stringValue(id))
}

// memoize stores the top of the stack at memo index at.
func (m *machine) memoize(at uint32) error {
	if err := m.need(1); err != nil {
		return err
	}
	top := &m.stack[len(m.stack)-1]
	if top.unbound() {
		if top.n != 0 {
			return m.corrupt("an empty container is memoized twice")
		}
		top.n = uint64(at) + 1
	}
	before := m.memo.bytes()
	if used := m.memo.set(at, m.memo.pack(*top)); used {
		m.raw.forget() // runs of references may now mean something else
	}
	return m.charge(m.memo.bytes() - before)
}

// memoizeNext stores the top of the stack at the next memo index.
func (m *machine) memoizeNext() error {
	m.memo.next++
	return m.memoize(m.memo.next - 1)
}

// recall pushes memo entry at.
func (m *machine) recall(at uint32) error {
	if len(m.stack) < cap(m.stack) {
		if v, ok := m.memo.plain(at); ok { // nearly always: a key
			m.stack = append(m.stack, v)
			return nil
		}
	}
	v, ok := m.memo.get(at)
	if !ok {
		return m.corrupt("memo entry %d is used before it is set", at)
	}
	return m.push(v)
}

// bind replaces the container in a stack slot, and in the memo, by v.
func (m *machine) bind(slot *value, v value) {
	if slot.n != 0 {
		m.memo.set(uint32(slot.n-1), m.memo.pack(v))
		v.n = slot.n
	}
	*slot = v
}

// resolve returns the current value of a container that was unbound when it was
// copied from the memo.
func (m *machine) resolve(v value) value {
	if v.unbound() && v.n != 0 {
		if now, ok := m.memo.get(uint32(v.n - 1)); ok {
			return now
		}
	}
	return v
}

// appends puts the items above the mark into the list below it.
func (m *machine) appends() error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	if err := m.need(1); err != nil {
		return err
	}
	return m.extend(&m.stack[len(m.stack)-1], items)
}

// appendOne puts the top of the stack into the list below it.
func (m *machine) appendOne() error {
	if err := m.need(2); err != nil {
		return err
	}
	top := len(m.stack) - 1
	items := m.stack[top:]
	m.stack = m.stack[:top]
	return m.extend(&m.stack[top-1], items)
}

// extend adds items to the list in a slot. A list of frames that comes in one
// piece becomes a stack at once.
func (m *machine) extend(slot *value, items []value) error {
	*slot = m.resolve(*slot)
	if slot.tag == tagStack {
		if err := m.reopen(slot); err != nil {
			return err
		}
	}
	if slot.tag != tagList {
		return m.corrupt("items are added to something that is not a list")
	}
	if len(items) == 0 { // PyTorch's C++ pickler adds nothing to empty lists
		return nil
	}
	for i := range items {
		if items[i].tag != tagDict && items[i].tag != tagList {
			continue
		}
		v, err := m.close(items[i])
		if err != nil {
			return err
		}
		items[i] = v
	}
	if slot.id == 0 && len(items) < batch {
		if id, ok := m.stackOf(items); ok {
			m.bind(slot, value{tag: tagStack, id: uint32(id)})
			m.learnRun(id)
			return m.charge(0)
		}
	}
	if slot.id == 0 {
		if err := m.bindList(slot); err != nil {
			return err
		}
	}
	return m.add(m.lists.at(slot.id), items)
}

// batch is how many items Python's pickler puts into a container at once.
const batch = 1000

// newList returns the number of an empty list.
func (m *machine) newList() (uint32, error) { return m.lists.add(m, list{}, scratch) }

// bindList makes the container in a slot a list that is open for items.
func (m *machine) bindList(slot *value) error {
	id, err := m.newList()
	if err == nil {
		m.bind(slot, value{tag: tagList, id: id})
	}
	return err
}

// reopen turns a stack back into a list of its frames, for a writer that adds
// frames to a list it had filled.
func (m *machine) reopen(slot *value) error {
	frames := m.in.Tables.Stack(trace.StackID(slot.id))
	if err := m.charge(int64(len(frames)) * valueBytes); err != nil {
		return err
	}
	if err := m.bindList(slot); err != nil {
		return err
	}
	items := make([]value, len(frames))
	for i, f := range frames {
		items[i] = value{tag: tagFrame, id: uint32(f)}
	}
	return m.add(m.lists.at(slot.id), items)
}

// setItems puts the keys and values above the mark into the dict below it.
func (m *machine) setItems() error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	if err := m.need(1); err != nil {
		return err
	}
	if len(items)%2 != 0 {
		return m.corrupt("a dict's key has no value")
	}
	slot := &m.stack[len(m.stack)-1]
	if slot.unbound() && slot.tag == tagDict && len(items) > 0 && len(items) < 2*batch && !m.moreFollows() {
		v, err := m.record(items)
		if err != nil {
			return err
		}
		switch v.tag {
		case tagEvent:
			m.learn(&m.shape)
		case tagBlock:
			m.learn(&m.blockShape)
		default: // other records are too few to learn from
		}
		if v.tag != tagDict {
			m.bind(slot, v)
			return nil
		}
	}
	return m.put(slot, items)
}

// moreFollows reports whether the next opcode is a mark. It may begin another
// batch for the same dict, so the dict stays open.
func (m *machine) moreFollows() bool {
	return m.have(1) && m.buf[m.pos] == pickle.Mark
}

// setItem puts the key and value on top of the stack into the dict below.
func (m *machine) setItem() error {
	if err := m.need(3); err != nil {
		return err
	}
	top := len(m.stack) - 2
	items := m.stack[top:]
	m.stack = m.stack[:top]
	return m.put(&m.stack[top-1], items)
}

// put adds keys and values to a dict that stays open for more.
func (m *machine) put(slot *value, items []value) error {
	*slot = m.resolve(*slot)
	if slot.tag != tagDict {
		return m.corrupt("items are set in something that is not an open dict")
	}
	var err error
	if slot.id == 0 {
		if m.dicts, err = reserve(m, m.dicts, 1, scratch); err != nil {
			return err
		}
		m.dicts = append(m.dicts, dict{})
		m.bind(slot, value{tag: tagDict, id: uint32(len(m.dicts) - 1)})
	}
	d := &m.dicts[slot.id]
	if d.closed {
		return m.corrupt("a dict is changed after it was used")
	}
	if d.items, err = reserve(m, d.items, len(items), scratch); err != nil {
		return err
	}
	d.items, d.text = append(d.items, items...), 0
	return nil
}
