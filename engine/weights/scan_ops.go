package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/memtop/memtop/snapshots/pickle"
)

// storageBytes are the classes of storages, with the bytes of an element.
var storageBytes = map[string]int64{
	"FloatStorage": 4, "DoubleStorage": 8, "HalfStorage": 2, "BFloat16Storage": 2,
	"LongStorage": 8, "IntStorage": 4, "ShortStorage": 2, "CharStorage": 1, "ByteStorage": 1, "BoolStorage": 1,
}

// global follows the naming of something outside of the pickle.
func (s *scanner) global() error {
	module, err := s.line()
	if err != nil {
		return err
	}
	name, err := s.line()
	if err != nil {
		return err
	}
	switch width, storage := storageBytes[name]; {
	case module == "torch" && storage:
		s.push(value{kind: kindStorageClass, n: width})
	case module == "torch._utils" && name == "_rebuild_tensor_v2":
		s.push(value{kind: kindRebuild})
	case module == "collections" && name == "OrderedDict":
		s.push(value{kind: kindOrderedDictClass})
	default:
		return fmt.Errorf("it names %.80q, which plain weights do not; save model.state_dict()", module+"."+name)
	}
	return nil
}

// reduce follows a call: of OrderedDict without arguments, or of the function
// that makes a tensor.
func (s *scanner) reduce() error {
	arguments, err := s.pop()
	if err != nil {
		return err
	}
	callee, err := s.pop()
	switch {
	case err != nil:
		return err
	case callee.kind == kindOrderedDictClass && arguments.kind == kindTuple && len(arguments.items) == 0:
		s.push(value{kind: kindDict})
	case callee.kind == kindRebuild && isTensor(arguments):
		s.push(value{kind: kindTensor})
	default:
		return errors.New("a call that weights do not make")
	}
	return nil
}

// isTensor checks the arguments of _rebuild_tensor_v2: storage, offset, size,
// stride, requires_grad, hooks.
func isTensor(arguments value) bool {
	a := arguments.items
	return arguments.kind == kindTuple && len(a) == 6 && a[0].kind == kindStorage && a[1].kind == kindInt && a[1].n >= 0 &&
		areSizes(a[2]) && areSizes(a[3]) && len(a[2].items) == len(a[3].items) && a[4].kind == kindBool && a[5].kind == kindDict
}

func areSizes(v value) bool {
	return v.kind == kindTuple && !slices.ContainsFunc(v.items, func(i value) bool {
		return i.kind != kindInt || i.n < 0 || i.n > math.MaxInt32
	})
}

// persistent follows the reference to a file with numbers: ("storage", class,
// file, device, elements).
func (s *scanner) persistent() error {
	id, err := s.pop()
	if err != nil {
		return err
	}
	a := id.items
	if id.kind != kindTuple || len(a) != 5 || a[0].text != "storage" || a[1].kind != kindStorageClass ||
		a[2].kind != kindString || a[3].kind != kindString || a[4].kind != kindInt {
		return errors.New("a reference that is not to a storage")
	}
	have, ok := s.sizes[a[2].text]
	if !ok {
		return fmt.Errorf("there is no file %.80q in the archive", a[2].text)
	}
	if a[4].n < 0 || a[4].n > math.MaxInt64/8 || a[4].n*a[1].n != have {
		return fmt.Errorf("storage %.80q should have %d elements of %d bytes, and has %d bytes", a[2].text, a[4].n, a[1].n, have)
	}
	s.push(value{kind: kindStorage, bytes: have})
	return nil
}

// build follows the setting of attributes: the _metadata of a state_dict.
func (s *scanner) build() error {
	state, err := s.pop()
	if err != nil {
		return err
	}
	if len(s.stack) == 0 || s.stack[len(s.stack)-1].kind != kindDict || state.kind != kindDict {
		return errors.New("attributes of something that has none")
	}
	return nil
}

// fill follows the filling of dictionaries and lists. Keys are texts, as names
// of tensors are, or numbers.
func (s *scanner) fill(op byte) (err error) {
	var items []value
	want, step := kindDict, 2
	if op == pickle.Append || op == pickle.Appends {
		want, step = kindList, 1
	}
	if op == pickle.SetItems || op == pickle.Appends {
		items, err = s.popMark()
	} else {
		items = make([]value, step)
		for i := step - 1; i >= 0 && err == nil; i-- {
			items[i], err = s.pop()
		}
	}
	if err != nil {
		return err
	}
	if len(s.stack) == 0 || s.stack[len(s.stack)-1].kind != want || len(items)%step != 0 {
		return errors.New("items for something that has none")
	}
	for i := 0; want == kindDict && i < len(items); i += 2 {
		if items[i].kind != kindString && items[i].kind != kindInt {
			return errors.New("a key that is neither a text nor a number")
		}
	}
	return nil
}

func (s *scanner) tuple(op byte) (err error) {
	var items []value
	switch op {
	case pickle.EmptyTuple:
	case pickle.Tuple:
		items, err = s.popMark()
	default:
		items = make([]value, op-pickle.Tuple1+1)
		for i := len(items) - 1; i >= 0 && err == nil; i-- {
			items[i], err = s.pop()
		}
	}
	if err == nil && len(items) > maxItems {
		err = errors.New("a tuple that is too long")
	}
	s.push(value{kind: kindTuple, items: slices.Clone(items)})
	return err
}

// scalar follows the opcodes of single values.
func (s *scanner) scalar(op byte) error {
	width := map[byte]int64{
		pickle.Mark: 0, pickle.None: 0, pickle.NewTrue: 0, pickle.NewFalse: 0, pickle.EmptyDict: 0, pickle.EmptyList: 0,
		pickle.BinInt1: 1, pickle.BinInt2: 2, pickle.BinInt: 4, pickle.BinFloat: 8, pickle.Long1: 1, pickle.BinUnicode: 4,
	}
	n, known := width[op]
	if !known {
		return fmt.Errorf("an operation %#02x that weights do not have", op)
	}
	b, err := s.take(n)
	if err != nil {
		return err
	}
	switch op {
	case pickle.Mark:
		s.push(value{kind: kindMark})
	case pickle.NewTrue, pickle.NewFalse:
		s.push(value{kind: kindBool})
	case pickle.EmptyDict:
		s.push(value{kind: kindDict})
	case pickle.EmptyList:
		s.push(value{kind: kindList})
	case pickle.BinInt1:
		s.push(value{kind: kindInt, n: int64(b[0])})
	case pickle.BinInt2:
		s.push(value{kind: kindInt, n: int64(binary.LittleEndian.Uint16(b))})
	case pickle.BinInt:
		s.push(value{kind: kindInt, n: int64(int32(binary.LittleEndian.Uint32(b)))})
	case pickle.Long1:
		return s.long(int64(b[0]))
	case pickle.BinUnicode:
		text, err := s.take(int64(binary.LittleEndian.Uint32(b)))
		s.push(value{kind: kindString, text: string(text)})
		return err
	default: // None and floats
		s.push(value{})
	}
	return nil
}

// long follows a number of several bytes, of which those that do not fit in 64
// bits are refused.
func (s *scanner) long(n int64) error {
	b, err := s.take(n)
	if err != nil {
		return err
	}
	if n > 8 {
		return errors.New("a number of more than 64 bits")
	}
	v := int64(0)
	for i, x := range b {
		v |= int64(x) << (8 * i)
	}
	if n > 0 && n < 8 && b[n-1]&0x80 != 0 {
		v -= 1 << (8 * n)
	}
	// gopickle gives such numbers another type, and so would refuse them where
	// an int is wanted; sizes that need them are beyond what is allowed anyway.
	s.push(value{n: v})
	return nil
}
