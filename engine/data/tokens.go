package data

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/memtop/memtop/snapshots/mapped"
)

// Tokens is a long sequence of token numbers, from a file or from the program's
// own text. Only the parts that are used are read. It is safe for concurrent use,
// but for Close.
type Tokens struct {
	name       string
	raw        []byte // of a file they are mapped: they fault when it no longer has them
	close      func() error
	begin      int // where the first token is
	count      int
	width      int // bytes of one token: 1, 2 or 4
	vocabulary int
}

// byteVocabulary is that of a text.
const byteVocabulary = 256

// Bytes returns the tokens of a text: a byte is a token.
func Bytes(name string, text []byte) *Tokens {
	return &Tokens{name: name, raw: text, close: func() error { return nil }, count: len(text), width: 1, vocabulary: byteVocabulary}
}

// Name returns where the tokens are from, for messages.
func (t *Tokens) Name() string { return t.name }

// Len returns the number of tokens.
func (t *Tokens) Len() int { return t.count }

// Vocabulary returns how many different tokens there may be: all numbers are
// below it.
func (t *Tokens) Vocabulary() int { return t.vocabulary }

// Close ends the use of the file. The tokens must not be in use.
func (t *Tokens) Close() error { return t.close() }

// Read writes the tokens from number start on as little-endian 32 bit numbers,
// as many as dst has room for. It fails when the file has become shorter since
// it was opened, or holds a number beyond the vocabulary.
func (t *Tokens) Read(start int, dst []byte) error {
	raw := t.raw[t.begin+start*t.width:][:len(dst)/4*t.width]
	err := mapped.Touch(raw, func() error { return t.widen(start, raw, dst) })
	if errors.Is(err, mapped.ErrCut) {
		return &FormatError{t.name, "the file was cut while it was being read"}
	}
	return err
}

// widen writes tokens as they lie in the file as numbers of 32 bits.
func (t *Tokens) widen(start int, raw, dst []byte) error {
	for i := range len(dst) / 4 {
		token := t.number(raw[i*t.width:])
		if token >= uint32(t.vocabulary) {
			return &FormatError{t.name, fmt.Sprintf("token %d is %d, but the vocabulary ends at %d", start+i, token, t.vocabulary)}
		}
		binary.LittleEndian.PutUint32(dst[4*i:], token)
	}
	return nil
}

// number returns the token at the beginning of b.
func (t *Tokens) number(b []byte) uint32 {
	switch t.width {
	case 1:
		return uint32(b[0])
	case 2:
		return uint32(binary.LittleEndian.Uint16(b))
	default:
		return binary.LittleEndian.Uint32(b)
	}
}
