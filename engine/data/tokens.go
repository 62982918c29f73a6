package data

import (
	"encoding/binary"
	"fmt"
	"runtime/debug"
)

// Tokens is a long row of token numbers in memory that is read only as far as
// it is used: a mapped file, or a text of the program's own. It is safe for
// concurrent use, but for Close.
type Tokens struct {
	name       string
	raw        []byte // the tokens' own bytes
	width      int    // bytes of one token: 1, 2 or 4
	vocabulary int
	unmap      func() error
}

// Bytes returns the tokens of a text: a byte is a token.
func Bytes(name string, text []byte) *Tokens {
	return &Tokens{name: name, raw: text, width: 1, vocabulary: 256}
}

// Name returns where the tokens are from, for messages.
func (t *Tokens) Name() string { return t.name }

// Len returns the number of tokens.
func (t *Tokens) Len() int { return len(t.raw) / t.width }

// Vocabulary returns how many different tokens there may be: all numbers are
// below it.
func (t *Tokens) Vocabulary() int { return t.vocabulary }

// Close gives the mapping up. The tokens must not be in use.
func (t *Tokens) Close() error {
	if t.unmap == nil {
		return nil
	}
	unmap := t.unmap
	t.unmap, t.raw = nil, nil
	return unmap()
}

// Read writes the tokens from number start on as little-endian 32 bit numbers,
// as many as dst has room for. It fails when the file has become shorter since
// it was opened, or holds a number beyond the vocabulary.
func (t *Tokens) Read(start int, dst []byte) (err error) {
	// Reading mapped memory that the file no longer has is a fault, which is
	// turned into an error here.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch r := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			err = &FormatError{t.name, "the file was cut while it was being read"}
		default:
			panic(r)
		}
	}()
	for i := range len(dst) / 4 {
		token := t.at(start + i)
		if token >= uint32(t.vocabulary) {
			return &FormatError{t.name, fmt.Sprintf("token %d is %d, but the vocabulary ends at %d", start+i, token, t.vocabulary)}
		}
		binary.LittleEndian.PutUint32(dst[4*i:], token)
	}
	return nil
}

func (t *Tokens) at(i int) uint32 {
	switch b := t.raw[i*t.width:]; t.width {
	case 1:
		return uint32(b[0])
	case 2:
		return uint32(binary.LittleEndian.Uint16(b))
	default:
		return binary.LittleEndian.Uint32(b)
	}
}
