package weights

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/memtop/memtop/snapshots/pickle"
)

// kind is what the scan knows of a value on the pickle's stack.
type kind uint8

const (
	kindOther kind = iota // None, a float: allowed as values only
	kindBool
	kindInt
	kindString
	kindTuple
	kindDict
	kindList
	kindOrderedDictClass
	kindRebuild
	kindStorageClass
	kindStorage
	kindTensor
	kindMark
)

// value is a kind with what matters of it.
type value struct {
	kind  kind
	n     int64   // of an int; bytes of an element, for a storage class
	text  string  // of a string
	items []value // of a tuple
	bytes int64   // of a storage
}

// scanner follows a pickle without building what it says.
type scanner struct {
	rest  []byte
	stack []value
	memo  map[uint32]value
	sizes map[string]int64 // bytes of the files with numbers
}

// Limits that no weights come near, so that a scan takes little itself.
const (
	maxStack = 1 << 16
	maxItems = 64 // of a tuple: dimensions, or arguments
)

// scan walks over a pickle and says why it is not plain weights, or nil.
func scan(pickle []byte, sizes map[string]int64) error {
	s := &scanner{rest: pickle, memo: make(map[uint32]value), sizes: sizes}
	for {
		at := len(pickle) - len(s.rest)
		done, err := s.step()
		if err != nil {
			return fmt.Errorf("data.pkl, byte %d: %w", at, err)
		}
		if done {
			return nil
		}
		if len(s.stack) > maxStack {
			return fmt.Errorf("data.pkl, byte %d: too many values", at)
		}
	}
}

var errEnd = errors.New("the pickle ends early")

// step follows one operation.
func (s *scanner) step() (done bool, err error) {
	op, err := s.take(1)
	if err != nil {
		return false, err
	}
	switch op[0] {
	case pickle.Proto:
		version, err := s.take(1)
		if err == nil && version[0] != 2 {
			err = fmt.Errorf("protocol %d; torch.save writes 2", version[0])
		}
		return false, err
	case pickle.Stop:
		return true, s.stop()
	case pickle.BinPut, pickle.LongBinPut, pickle.BinGet, pickle.LongBinGet:
		return false, s.remember(op[0])
	case pickle.Global:
		return false, s.global()
	case pickle.Reduce:
		return false, s.reduce()
	case pickle.BinPersID:
		return false, s.persistent()
	case pickle.Build:
		return false, s.build()
	case pickle.SetItem, pickle.SetItems, pickle.Append, pickle.Appends:
		return false, s.fill(op[0])
	case pickle.Tuple, pickle.Tuple1, pickle.Tuple2, pickle.Tuple3, pickle.EmptyTuple:
		return false, s.tuple(op[0])
	default:
		return false, s.scalar(op[0])
	}
}

// stop checks that the pickle is one dictionary.
func (s *scanner) stop() error {
	top, err := s.pop()
	switch {
	case err != nil:
		return err
	case len(s.stack) != 0:
		return errors.New("values are left on the stack")
	case top.kind != kindDict:
		return errors.New("it is not a dictionary of tensors; save model.state_dict()")
	}
	return nil
}

func (s *scanner) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(s.rest)) {
		return nil, errEnd
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b, nil
}

func (s *scanner) line() (string, error) {
	text, rest, found := bytes.Cut(s.rest, []byte{'\n'})
	if !found {
		return "", errEnd
	}
	s.rest = rest
	return string(text), nil
}

func (s *scanner) push(v value) { s.stack = append(s.stack, v) }

func (s *scanner) pop() (value, error) {
	last := len(s.stack) - 1
	if last < 0 || s.stack[last].kind == kindMark {
		return value{}, errors.New("an operation without its operands")
	}
	v := s.stack[last]
	s.stack = s.stack[:last]
	return v, nil
}

// popMark takes everything down to the last mark.
func (s *scanner) popMark() ([]value, error) {
	for i := len(s.stack) - 1; i >= 0; i-- {
		if s.stack[i].kind == kindMark {
			items := s.stack[i+1:]
			s.stack = s.stack[:i]
			return items, nil
		}
	}
	return nil, errors.New("an operation without its mark")
}

// remember follows the memo. A dictionary or list that is fetched again could
// be put into itself, which weights never do.
func (s *scanner) remember(op byte) error {
	width := int64(1)
	if op == pickle.LongBinPut || op == pickle.LongBinGet {
		width = 4
	}
	b, err := s.take(width)
	if err != nil {
		return err
	}
	key := uint32(b[0])
	if width == 4 {
		key = binary.LittleEndian.Uint32(b)
	}
	if op == pickle.BinPut || op == pickle.LongBinPut {
		if len(s.stack) == 0 || s.stack[len(s.stack)-1].kind == kindMark {
			return errors.New("nothing to remember")
		}
		s.memo[key] = s.stack[len(s.stack)-1]
		return nil
	}
	v, ok := s.memo[key]
	if !ok || v.kind == kindDict || v.kind == kindList {
		return errors.New("it refers to something that cannot be used again")
	}
	s.push(v)
	return nil
}
