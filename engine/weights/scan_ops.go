package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/memtop/memtop/snapshots/pickle"
)

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
	switch numbers, known := elements[name]; {
	case module == "torch" && known:
		s.push(value{kind: kindStorageClass, storage: storage{element: numbers}})
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
		s.push(value{kind: kindDict, dict: new([]entry)})
	case callee.kind == kindRebuild && isTensor(arguments):
		a := arguments.items
		s.push(value{kind: kindTensor, view: &view{a[0].storage, a[1].n, ints(a[2]), ints(a[3])}})
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

func ints(tuple value) []int {
	list := make([]int, len(tuple.items))
	for i := range list {
		list[i] = tuple.items[i].n
	}
	return list
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
	file, ok := s.files[a[2].text]
	if !ok {
		return fmt.Errorf("there is no file %.80q in the archive", a[2].text)
	}
	numbers, n, have := a[1].storage.element, a[4].n, file.UncompressedSize64
	if n < 0 || n > math.MaxInt64/8 || uint64(n*numbers.bytes) != have {
		return fmt.Errorf("storage %.80q should have %d elements of %d bytes, and has %d bytes", a[2].text, n, numbers.bytes, have)
	}
	s.push(value{kind: kindStorage, storage: storage{numbers, file, n}})
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
		name := items[i].text
		switch items[i].kind {
		case kindString:
		case kindInt:
			name = strconv.Itoa(items[i].n)
		default:
			return errors.New("a key that is neither a text nor a number")
		}
		to := s.stack[len(s.stack)-1].dict
		*to = append(*to, entry{name, items[i+1]})
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
		s.push(value{kind: kindDict, dict: new([]entry)})
	case pickle.EmptyList:
		s.push(value{kind: kindList})
	case pickle.BinInt1:
		s.push(value{kind: kindInt, n: int(b[0])})
	case pickle.BinInt2:
		s.push(value{kind: kindInt, n: int(binary.LittleEndian.Uint16(b))})
	case pickle.BinInt:
		s.push(value{kind: kindInt, n: int(int32(binary.LittleEndian.Uint32(b)))})
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

// long follows a number of several bytes, which is refused where an int is wanted:
// sizes that need it are beyond what is allowed.
func (s *scanner) long(n int64) error {
	if _, err := s.take(n); err != nil {
		return err
	}
	if n > 8 {
		return errors.New("a number of more than 64 bits")
	}
	s.push(value{})
	return nil
}
