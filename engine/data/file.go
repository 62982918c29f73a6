package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// # Token files
//
// A token file is a header of 32 bytes and the tokens, all little-endian:
//
//	 0  8 bytes  "memtoptk"
//	 8  uint32   version, 1
//	12  uint32   bytes of one token: 1, 2 or 4
//	16  uint64   vocabulary: every token is below it
//	24  uint64   number of tokens
//	32           the tokens
//
// Any other file is a text, whose bytes are its tokens as they stand. There is
// nothing to convert, so a file that is mapped can be larger than the memory, and
// its first use costs no more than the next.

const (
	magic      = "memtoptk"
	version    = 1
	headerSize = 32
	headSize   = 1 << 12 // bytes of a file that say what it is
	// maxVocabulary keeps tokens in 31 bits, which is what devices take.
	maxVocabulary = 1 << 31
)

// Open maps a token file or a text into memory, which the system fills when it is read
// and takes back when it has to. The caller closes the tokens.
func Open(path string) (*Tokens, error) {
	f, size, err := openOrdinary(path)
	if err != nil {
		return nil, err
	}
	raw, unmap, err := mapFile(f, size)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	t, err := interpret(path, raw)
	if err != nil {
		return nil, errors.Join(err, unmap())
	}
	t.close = unmap
	return t, nil
}

// interpret finds out by its beginning what a file holds.
func interpret(name string, raw []byte) (*Tokens, error) {
	if !bytes.HasPrefix(raw, []byte(magic)) {
		return interpretText(name, raw)
	}
	if len(raw) < headerSize {
		return nil, &FormatError{name, "the header of the token file ends early"}
	}
	order := binary.LittleEndian
	v, width, vocabulary, count := order.Uint32(raw[8:]), order.Uint32(raw[12:]), order.Uint64(raw[16:]), order.Uint64(raw[24:])
	body := uint64(len(raw) - headerSize)
	switch {
	case v != version:
		return nil, &FormatError{name, fmt.Sprintf("version %d of token files is not known", v)}
	case width != 1 && width != 2 && width != 4:
		return nil, &FormatError{name, fmt.Sprintf("tokens of %d bytes", width)}
	case vocabulary == 0 || vocabulary > maxVocabulary:
		return nil, &FormatError{name, fmt.Sprintf("a vocabulary of %d", vocabulary)}
	case count != body/uint64(width) || body%uint64(width) != 0:
		return nil, &FormatError{name, fmt.Sprintf("it should hold %d tokens of %d bytes, and has %d bytes", count, width, body)}
	}
	return &Tokens{name: name, raw: raw, begin: headerSize, count: int(count), width: int(width), vocabulary: int(vocabulary)}, nil
}

// interpretText refuses what is certainly no text, to spare its owner a model
// of a picture's bytes. Only the beginning is looked at.
func interpretText(name string, raw []byte) (*Tokens, error) {
	if len(raw) == 0 {
		return nil, &FormatError{name, "the file is empty"}
	}
	if i := bytes.IndexByte(raw[:min(len(raw), headSize)], 0); i >= 0 {
		return nil, &FormatError{name, fmt.Sprintf("neither a token file nor a text: byte %d is 0", i)}
	}
	return &Tokens{name: name, raw: raw, count: len(raw), width: 1, vocabulary: byteVocabulary}, nil
}

// FormatError says that a file cannot be used as training data.
type FormatError struct {
	Path, Reason string
}

// Error returns the path and the reason.
func (e *FormatError) Error() string { return e.Path + ": " + e.Reason }

// openOrdinary opens a file that has a size, and returns its size. It looks
// before it opens, because opening a pipe waits for a writer.
func openOrdinary(path string) (f *os.File, size int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, &FormatError{path, "not an ordinary file"}
	}
	f, err = os.Open(path)
	return f, info.Size(), err
}
