package pytorch

import (
	"math/bits"

	"github.com/memtop/memtop/snapshots/trace"
)

// noteFields are the keys of an entry that go into its note. Every entry has an
// action; its kind decides whether it goes there.
var noteFields = func() (fields uint64) {
	for _, k := range append(noteKeys[:], nameInternalMetadata, namePoolID, nameForwardFrames, nameNotedCategory) {
		fields |= 1 << k
	}
	return fields &^ (1 << nameAction)
}()

// noteCache and streamCache hold the last result: consecutive entries of a kind
// mostly share it. A note is known by its fields, if they are texts and pools,
// which do not change.
type noteCache struct {
	have  uint64 // fields of the note; 0 for no note
	value [nameNotedCategory + 1]value
	id    trace.NoteID
}

// same reports whether fields say what the cached note says.
func (c *noteCache) same(f *fields) bool {
	if f.have&noteFields != c.have || c.have == 0 {
		return false
	}
	for left := c.have; left != 0; left &= left - 1 {
		k := bits.TrailingZeros64(left)
		if f.value[k].id != c.value[k].id || f.value[k].tag != c.value[k].tag {
			return false
		}
	}
	return true
}

// keep caches a note, unless a field of it may change or counts as odd.
func (c *noteCache) keep(f *fields, id trace.NoteID) {
	c.have, c.id = f.have&noteFields, id
	for left := c.have; left != 0; left &= left - 1 {
		k := bits.TrailingZeros64(left)
		c.value[k] = f.value[k]
		pool := name(k) == namePoolID
		if tag := f.value[k].tag; tag != tagNone && (pool || tag != tagString) && (!pool || tag != tagPool) {
			c.have = 0
			return
		}
	}
}

type streamCache struct {
	handle uint64
	id     trace.StreamID
}

// event makes the fields an entry of a device's trace.
func (m *machine) event(f *fields) (value, error) {
	if err := m.admit(); err != nil {
		return value{}, err
	}
	m.snapshot.entryKeys |= f.have
	e := m.log.Next()
	m.eventOf(f, e)
	m.kinds |= 1 << e.Kind
	if e.Kind == trace.OOM {
		m.used += oomBytes
	}
	return value{tag: tagEvent, id: uint32(m.log.Len() - 1)}, m.charge(0)
}

// admit counts the memory of the next entry.
func (m *machine) admit() error {
	if m.log.Len()%1024 == 0 {
		if err := m.charge(1024 * eventBytes); err != nil {
			return err
		}
		if m.log.Len() >= trace.MaxEvents {
			return m.corrupt("more than %d trace entries", trace.MaxEvents)
		}
	}
	return nil
}

// eventOf turns the fields into an event.
func (m *machine) eventOf(f *fields, e *trace.Event) {
	action := m.string(f, nameAction)
	e.Kind = kindOf(action)
	where := nameAddr
	if e.Kind == trace.OOM {
		where = nameDeviceFree
	}
	var ok bool
	if e.Addr, ok = m.address(f, where); !ok {
		e.Absent |= trace.NoAddr
	}
	if e.Size, ok = m.number(f, nameSize); !ok {
		e.Absent |= trace.NoSize
	}
	if e.Time, ok = m.number(f, nameTime); !ok {
		e.Absent |= trace.NoTime
	}
	if e.Stream, ok = m.stream(f); !ok {
		e.Absent |= trace.NoStream
	}
	e.Stack = m.frameStack(f)
	if f.have&noteFields != 0 || e.Kind == trace.Other {
		e.Note = m.note(f, e.Kind, action)
	}
}

// stream returns the stream field.
func (m *machine) stream(f *fields) (trace.StreamID, bool) {
	handle, ok := m.address(f, nameStream)
	if !ok {
		return 0, false
	}
	if handle != m.lastStream.handle {
		m.lastStream = streamCache{handle, m.in.Stream(handle)}
	}
	return m.lastStream.id, true
}

// note returns the note of an entry or block.
func (m *machine) note(f *fields, kind trace.Kind, action trace.StringID) trace.NoteID {
	last := &m.lastNote[kind]
	if kind != trace.Other && last.same(f) {
		return last.id
	}
	var n trace.Note
	if kind == trace.Other {
		n.Action = action
	}
	if f.have&noteFields != 0 {
		for i, text := range n.Texts() {
			switch k := noteKeys[i]; k {
			case nameAction:
			case nameUserMetadata:
				*text = m.metadata(f)
			case nameCategory:
				*text = m.category(f)
			default:
				*text = m.string(f, k)
			}
		}
		n.Pool = m.pool(f, namePoolID)
		n.Forward = m.textList(f, nameForwardFrames)
		n.Internal = m.string(f, nameInternalMetadata)
	}
	id := m.in.Note(n)
	last.keep(f, id)
	return id
}

// category returns an entry's own category. See "Categories and PyTorch's
// viewer".
func (m *machine) category(f *fields) trace.StringID {
	if !f.has(nameNotedCategory) {
		return m.string(f, nameCategory)
	}
	if noted := m.string(f, nameNotedCategory); noted != trace.EmptyString {
		return noted
	}
	return 0
}

// textList returns a field as a list of strings, 0 when absent.
func (m *machine) textList(f *fields, k name) trace.ListID {
	if f.have&(1<<k) == 0 {
		return 0
	}
	v := m.resolve(f.value[k])
	if v.tag != tagList {
		if v.tag != tagNone {
			m.odd++
		}
		return 0
	}
	l := m.lists.at(v.id)
	if l.texts != 0 {
		return l.texts
	}
	ids := make([]trace.StringID, 0, l.len())
	for i := range l.len() {
		if id, ok := l.at(i).text(); ok {
			ids = append(ids, id)
		}
	}
	list := m.in.List(ids)
	if v.id != 0 {
		l.texts = list
	}
	return list
}
