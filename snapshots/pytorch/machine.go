package pytorch

import (
	"context"
	"fmt"
	"io"

	"memtop/snapshots/trace"
)

// The cost in memory of what the machine keeps, for the bound.
const (
	valueBytes      = 16
	eventBytes      = 40
	blockBytes      = 96
	segmentBytes    = 128
	tenantBytes     = 24
	annotationBytes = 24
	listBytes       = 64
	dictBytes       = 48
	stringBytes     = 80 // beside its text, with its place in the intern table
	stackBytes      = 64 // beside its frames, the same
	frameBytes      = 48
	noteBytes       = 120
	numberBytes     = 64 // a stream or a pool, the same
	idBytes         = 4
)

// machine is the state of a decode: a stack of values, the memo, and the
// records made so far. Its operations know nothing of how the input writes
// them. It never calls itself, so nesting costs only stack slots.
type machine struct {
	*window
	limit, used int64
	protocol    int

	stack []value
	marks []int
	memo  memo
	lists []list // 1 and up
	dicts []dict // 1 and up: those that come in pieces, and those that are no record

	in          *trace.Interner
	fields      fields
	log         trace.EventLog
	blocks      blockTable
	segments    []trace.Segment
	tenants     []trace.Tenant
	annotations []trace.Annotation
	snapshot    contents
	kinds       uint32 // bit k: an event of kind k was met
	raw         rawStacks
	pendingRun  int64 // where the run of references now being read began, or -1
	shape       shape
	dictStart   int64           // where the dict begun last began, or -1
	frames      []trace.FrameID // scratch
	lastNote    [trace.KindCount]noteCache
	lastStream  streamCache
	unknownKeys map[trace.StringID]int
	odd         int // fields whose value had a type that the field cannot have
}

func newMachine(ctx context.Context, r io.Reader, o Options) *machine {
	limit := o.MaxMemory
	if limit == 0 {
		limit = 4 << 30
	}
	m := &machine{
		window: newWindow(ctx, r, o), limit: limit, protocol: -1, pendingRun: -1, dictStart: -1,
		lists: make([]list, 1), dicts: make([]dict, 1),
		in: trace.NewInterner(), unknownKeys: make(map[trace.StringID]int),
	}
	internNames(m.in)
	m.raw.init()
	return m
}

func (m *machine) corrupt(format string, args ...any) error {
	return &CorruptError{Offset: m.offset(), Reason: fmt.Sprintf(format, args...)}
}

// charge counts memory that the result or the machine keeps.
func (m *machine) charge(bytes int64) error {
	m.used += bytes
	if m.used > m.limit {
		return m.tooMuch()
	}
	return nil
}

// owe counts memory where no error can be returned; the next charge returns it.
func (m *machine) owe(bytes int64) { m.used += bytes }

func (m *machine) tooMuch() error {
	return m.corrupt("the contents need more than the allowed %d MiB (see --max-memory)", m.limit>>20)
}

func (m *machine) push(v value) error {
	if len(m.stack) == cap(m.stack) {
		if err := m.charge(int64(max(len(m.stack), 64)) * valueBytes); err != nil {
			return err
		}
	}
	m.stack = append(m.stack, v)
	return nil
}

func (m *machine) mark() error {
	if len(m.marks) == cap(m.marks) {
		if err := m.charge(int64(max(len(m.marks), 64)) * 8); err != nil {
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
	before := len(m.in.Strings)
	id := m.in.Bytes(b)
	if len(m.in.Strings) != before {
		if err := m.charge(int64(len(b)) + stringBytes); err != nil {
			return err
		}
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

// bind makes the container in a stack slot what it has become, for the memo
// too.
func (m *machine) bind(slot *value, v value) {
	if slot.n != 0 {
		m.memo.set(uint32(slot.n-1), m.memo.pack(v))
		v.n = slot.n
	}
	*slot = v
}

// resolve returns what an unbound container has become since it was copied
// from the memo.
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
		m.bind(slot, m.newList())
	}
	return m.charge(m.lists[slot.id].add(items) + listBytes)
}

// batch is how many items Python's pickler puts into a container at once.
const batch = 1000

func (m *machine) newList() value {
	m.lists = append(m.lists, list{})
	return value{tag: tagList, id: uint32(len(m.lists) - 1)}
}

// reopen makes a stack a list again, for the writer that adds frames to a list
// it had filled: the stack's frames, as items.
func (m *machine) reopen(slot *value) error {
	frames := m.in.Tables.Stack(trace.StackID(slot.id))
	if err := m.charge(int64(len(frames)) * valueBytes); err != nil {
		return err
	}
	m.bind(slot, m.newList())
	items := make([]value, len(frames))
	for i, f := range frames {
		items[i] = value{tag: tagFrame, id: uint32(f)}
	}
	return m.charge(m.lists[slot.id].add(items) + listBytes)
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
		if v.tag == tagEvent {
			m.learn()
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
	return m.have(1) && m.buf[m.pos] == opMark
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
	if slot.id == 0 {
		m.dicts = append(m.dicts, dict{})
		m.bind(slot, value{tag: tagDict, id: uint32(len(m.dicts) - 1)})
	}
	d := &m.dicts[slot.id]
	if d.closed {
		return m.corrupt("a dict is changed after it was used")
	}
	d.items = append(d.items, items...)
	return m.charge(int64(len(items))*valueBytes*2 + dictBytes)
}
