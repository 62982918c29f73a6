package weights

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/memtop/memtop/snapshots/pickle"
)

// kind is the type of a value on the pickle's stack.
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
	kind    kind
	n       int      // of an int
	text    string   // of a string
	items   []value  // of a tuple
	dict    *[]entry // of a dictionary
	storage storage  // of a storage, or of its class without a file
	view    *view    // of a tensor
}

// entry is a member of a dictionary.
type entry struct {
	name  string
	value value
}

// scanner follows a pickle. It does what plain weights need and nothing else.
type scanner struct {
	rest  []byte
	stack []value
	memo  map[uint32]value
	files map[string]*zip.File // of numbers
}

// Limits that no weights come near, so that a scan takes little itself.
const (
	maxStack = 1 << 16
	maxItems = 64 // of a tuple: dimensions, or arguments
)

// unpickle returns the dictionary of a pickle, or says why it is not plain weights.
func unpickle(pickle []byte, files map[string]*zip.File) (value, error) {
	s := &scanner{rest: pickle, memo: make(map[uint32]value), files: files}
	for {
		at := len(pickle) - len(s.rest)
		done, err := s.step()
		if err == nil && len(s.stack) > maxStack {
			err = errors.New("too many values")
		}
		if err != nil {
			return value{}, fmt.Errorf("data.pkl, byte %d: %w", at, err)
		}
		if done {
			return s.stack[0], nil
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
	switch {
	case len(s.stack) == 0:
		return errOperands
	case len(s.stack) > 1:
		return errors.New("values are left on the stack")
	case s.stack[0].kind != kindDict:
		return errors.New("it is not a dictionary of tensors; save model.state_dict()")
	}
	return nil
}

var errOperands = errors.New("an operation without its operands")

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
		return value{}, errOperands
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
