package pytorch

import (
	"math"

	"github.com/memtop/memtop/snapshots/trace"
)

// tag is the type of a value on the machine's stack.
type tag uint8

const (
	tagNone tag = iota
	tagBool
	tagInt    // n holds an int64
	tagUint   // n holds a value of 2^63 and up
	tagFloat  // n holds the bits
	tagOpaque // data of a type that no record has: bytes, integers beyond 64 bits
	tagString // id is a trace.StringID
	tagPool   // id is a trace.PoolID: a pair of integers
	tagTuple  // id indexes machine.lists; any other tuple
	tagTyper  // torch_npu's restore_type_tag, which changes nothing

	// Containers and the records made of them. An unbound container is still
	// empty: id is 0 and n its memo index plus one, if it has one.
	tagList // id indexes machine.lists
	tagDict // id indexes machine.dicts, open for more items
	tagFrame
	tagStack
	tagEvent
	tagBlock
	tagSegment
	tagTenant
	tagAnnotation
	tagSnapshot
)

// value is one slot of the machine's stack.
type value struct {
	tag tag
	id  uint32
	n   uint64
}

func intValue(n int64) value { return value{tag: tagInt, n: uint64(n)} }

func stringValue(id trace.StringID) value { return value{tag: tagString, id: uint32(id)} }

// integer returns the value as a signed integer. Booleans and whole floats count:
// they equal integers in Python, and some JSON writers write them for integers.
func (v value) integer() (int64, bool) {
	switch v.tag {
	case tagInt, tagBool:
		return int64(v.n), true
	case tagFloat:
		const exact = 1 << 53
		f := math.Float64frombits(v.n)
		if f == math.Trunc(f) && math.Abs(f) <= exact {
			return int64(f), true
		}
	default:
	}
	return 0, false
}

// bits returns the value as an address: PyTorch's C++ pickler writes addresses
// from 2^63 up as negative numbers.
func (v value) bits() (uint64, bool) {
	if v.tag == tagUint {
		return v.n, true
	}
	n, ok := v.integer()
	return uint64(n), ok
}

// text returns the value as a string.
func (v value) text() (trace.StringID, bool) {
	return trace.StringID(v.id), v.tag == tagString
}

// unbound reports whether v is a container that is still empty.
func (v value) unbound() bool { return v.id == 0 && (v.tag == tagList || v.tag == tagDict) }

// list is a finished or growing list. A run of records with consecutive numbers
// is kept as its first number and count; anything else item by item.
type list struct {
	of    tag
	first uint32
	count uint32
	items []value
	// The items as a stack, as a list of strings and as metadata, once made.
	stack trace.StackID
	texts trace.ListID
	text  trace.StringID
}

func (l *list) len() int { return max(int(l.count), len(l.items)) }

// at returns item i.
func (l *list) at(i int) value {
	if l.items != nil {
		return l.items[i]
	}
	return value{tag: l.of, id: l.first + uint32(i)}
}

// add appends items to a list.
func (m *machine) add(l *list, items []value) error {
	if len(items) == 0 {
		return nil
	}
	l.stack, l.texts, l.text = 0, 0, 0
	if l.items == nil && l.extendsRun(items) {
		if l.count == 0 {
			l.of, l.first = items[0].tag, items[0].id
		}
		l.count += uint32(len(items))
		return nil
	}
	longer, err := reserve(m, l.items, int(l.count)+len(items), scratch)
	if err != nil {
		return err
	}
	for i := range l.count {
		longer = append(longer, value{tag: l.of, id: l.first + i})
	}
	l.items, l.count = append(longer, items...), 0
	return nil
}

// extendsRun reports whether items, at least one, continue the list's run of records.
func (l *list) extendsRun(items []value) bool {
	of, next := items[0].tag, items[0].id
	if l.count > 0 {
		of, next = l.of, l.first+l.count
	}
	if of < tagFrame {
		return false
	}
	for i := range items {
		if items[i].tag != of || items[i].id != next+uint32(i) {
			return false
		}
	}
	return true
}
