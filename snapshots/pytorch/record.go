package pytorch

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// fields is a dict's known keys and their values.
type fields struct {
	have  uint64 // bit k: key k has a value
	value [keyCount]value
}

func (f *fields) has(keys ...name) bool {
	for _, k := range keys {
		if f.have&(1<<k) == 0 {
			return false
		}
	}
	return true
}

// dict is a dict that came in pieces or is not a record.
type dict struct {
	items  []value        // keys and values in turn
	text   trace.StringID // its text as metadata, once made
	closed bool
	record value // its record, once closed
}

// close turns an open dict into its record. It is called when the dict is
// used: until then more items may come.
func (m *machine) close(v value) (value, error) {
	v = m.resolve(v)
	if v.tag != tagDict || v.id == 0 {
		return v, nil
	}
	d := &m.dicts[v.id]
	if d.closed {
		return d.record, nil
	}
	d.closed, d.record = true, v
	record, err := m.record(d.items)
	if err != nil || record.tag == tagDict {
		return v, err
	}
	d = &m.dicts[v.id]
	m.used -= int64(cap(d.items)) * valueBytes * int64(scratch)
	d.record, d.items = record, nil
	return record, nil
}

// record makes a dict's keys and values a record. The keys decide its kind, not
// its place, so the order in which a writer builds things does not matter. For a
// dict that is not a record it returns an unbound dict.
func (m *machine) record(items []value) (value, error) {
	f := &m.fields
	f.have = 0
	unknown := 0
	for i := 0; i+1 < len(items); i += 2 {
		key := items[i]
		if k := nameOf(trace.StringID(key.id)); key.tag == tagString && k < keyCount {
			f.have |= 1 << k
			f.value[k] = items[i+1]
		} else {
			unknown++
		}
	}
	v, known, err := m.recordOf(f)
	if err != nil {
		return value{}, err
	}
	if !known {
		return value{tag: tagDict}, nil
	}
	if unknown > 0 {
		m.noteUnknown(items)
	}
	return v, m.charge(0)
}

// recordOf makes the record that the keys decide.
func (m *machine) recordOf(f *fields) (v value, known bool, err error) {
	switch {
	case f.has(nameAction):
		v, err = m.event(f)
	case f.has(nameFilename), f.has(nameName, nameLine):
		v = m.frame(f)
	case f.has(nameBlocks), f.has(nameTotalSize):
		v, err = m.segment(f)
	case f.has(nameSize) && (f.has(nameState) || f.has(nameHistory)):
		v, err = m.block(f)
	case f.has(nameStage, nameName):
		v, err = m.annotation(f)
	case f.has(nameRealSize):
		v, err = m.tenant(f)
	case f.has(nameSegments), f.has(nameDeviceTraces):
		v = m.contents(f)
	default:
		return value{}, false, nil
	}
	return v, true, err
}

// noteUnknown counts the unknown keys of a record. A key that is not a string is
// odd.
func (m *machine) noteUnknown(items []value) {
	for i := 0; i+1 < len(items); i += 2 {
		id, ok := items[i].text()
		switch {
		case !ok:
			m.odd++
		case nameOf(id) < keyCount:
		case m.unknownKeys[id] > 0 || len(m.unknownKeys) < 64:
			m.unknownKeys[id]++
		}
	}
}

// number returns a field as a signed integer, 0 and false when absent. A value
// of another type is absent and counted as odd; None is only absent.
func (m *machine) number(f *fields, k name) (int64, bool) {
	if f.have&(1<<k) == 0 {
		return 0, false
	}
	v := &f.value[k]
	if v.tag == tagInt { // as nearly always
		return int64(v.n), true
	}
	n, ok := v.integer()
	if !ok && v.tag != tagNone {
		m.odd++
	}
	return n, ok
}

// device returns the device field. A number beyond 32 bits is odd.
func (m *machine) device(f *fields) (int32, bool) {
	n, ok := m.number(f, nameDevice)
	if n != int64(int32(n)) {
		m.odd++
		return 0, false
	}
	return int32(n), ok
}

// address returns a field as an address.
func (m *machine) address(f *fields, k name) (uint64, bool) {
	if f.have&(1<<k) == 0 {
		return 0, false
	}
	v := &f.value[k]
	if v.tag == tagInt { // as nearly always
		return v.n, true
	}
	n, ok := v.bits()
	if !ok && v.tag != tagNone {
		m.odd++
	}
	return n, ok
}

// string returns a field as a string, 0 when absent.
func (m *machine) string(f *fields, k name) trace.StringID {
	if f.have&(1<<k) == 0 {
		return 0
	}
	id, ok := f.value[k].text()
	if !ok {
		if f.value[k].tag != tagNone {
			m.odd++
		}
		return 0
	}
	return id
}

// pool returns a field as a pool, 0 when absent.
func (m *machine) pool(f *fields, k name) trace.PoolID {
	if f.have&(1<<k) == 0 {
		return 0
	}
	v := m.resolve(f.value[k])
	if v.tag == tagList && m.lists.at(v.id).len() == 2 { // JSON has no tuples
		a, aok := m.lists.at(v.id).at(0).integer()
		b, bok := m.lists.at(v.id).at(1).integer()
		if aok && bok {
			return m.in.Pool(trace.Pool{a, b})
		}
	}
	if v.tag != tagPool {
		if v.tag != tagNone {
			m.odd++
		}
		return 0
	}
	return trace.PoolID(v.id)
}

// standIns begins the file of functions of the agent that stand in for PyTorch's
// operations in a rehearsal. On a GPU they are not there.
const standIns = "<frozen memtop."

// frame makes a line of a stack: 0 for a line that no stack has.
func (m *machine) frame(f *fields) value {
	line, _ := m.address(f, nameLine) // one writer gives 2^64-1 for -1
	file := m.string(f, nameFilename)
	if strings.HasPrefix(m.in.Strings[file], standIns) {
		return value{tag: tagFrame}
	}
	id := m.in.Frame(trace.Frame{
		File: file, Name: m.string(f, nameName), Line: int32(int64(line)),
	})
	if f.have&(1<<nameFXOp|1<<nameFXNode|1<<nameFXTarget|1<<nameFXTrace|1<<nameFXInfo) != 0 {
		m.in.SetFX(id, trace.FX{
			Op: m.string(f, nameFXOp), NodeName: m.string(f, nameFXNode),
			Target: m.string(f, nameFXTarget), OriginalTrace: m.string(f, nameFXTrace),
			Info: m.string(f, nameFXInfo),
		})
	}
	return value{tag: tagFrame, id: uint32(id)}
}

// stackOf returns items as a stack, if all are frames.
func (m *machine) stackOf(items []value) (trace.StackID, bool) {
	m.frames = m.frames[:0]
	for i := range items {
		if items[i].tag != tagFrame {
			return 0, false
		}
		m.addFrame(items[i])
	}
	return m.in.Stack(m.frames), true
}

func (m *machine) addFrame(v value) {
	if v.id != 0 {
		m.frames = append(m.frames, trace.FrameID(v.id))
	}
}

// frameStack returns the frames of a record as a stack, 0 when absent.
func (m *machine) frameStack(f *fields) trace.StackID {
	if !f.has(nameFrames) {
		return 0
	}
	v := m.resolve(f.value[nameFrames])
	switch {
	case v.tag == tagStack:
		return trace.StackID(v.id)
	case v.tag == tagList && v.id == 0:
		return trace.EmptyStack
	case v.tag == tagList:
		return m.stackOfList(m.lists.at(v.id))
	case v.tag != tagNone:
		m.odd++
	}
	return 0
}

// stackOfList returns a list of frames as a stack. It is made once per list: many
// entries may refer to one.
func (m *machine) stackOfList(l *list) trace.StackID {
	if l.stack != 0 {
		return l.stack
	}
	m.frames = m.frames[:0]
	for i := range l.len() {
		if item := l.at(i); item.tag == tagFrame {
			m.addFrame(item)
		}
	}
	l.stack = m.in.Stack(m.frames)
	return l.stack
}
