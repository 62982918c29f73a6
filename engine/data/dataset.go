package data

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/memtop/memtop/engine/device"
)

// Field describes one part of a sample: the shape and the type of its elements.
type Field struct {
	Shape []int // of one sample, without the batch
	DType device.DType
}

// Size returns the number of elements in one sample.
func (f Field) Size() int {
	n := 1
	for _, extent := range f.Shape {
		n *= extent
	}
	return n
}

// Bytes returns what one sample occupies.
func (f Field) Bytes() int { return f.Size() * int(f.DType.Size()) }

// Spec says what the samples of a data set are.
type Spec struct {
	Input, Target Field
	// Classes is the number of different targets, which are 0 … Classes-1. For
	// text it is the vocabulary, and inputs are of the same range.
	Classes int
}

// Dataset is a collection of samples. Read may be called by several goroutines.
type Dataset interface {
	// Len returns how many samples there are, at least 1.
	Len() int
	// Spec says what they are; it never changes.
	Spec() Spec
	// Read writes sample i, which is in [0, Len), into its place in a batch.
	Read(i int, into Sample) error
}

// Sample is the place of one sample in a staging buffer.
type Sample struct {
	Input, Target []byte // little-endian elements
}

func putInt(b []byte, value int32) {
	binary.LittleEndian.PutUint32(b, uint32(value))
}

func putFloat(b []byte, i int, value float32) {
	binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(value))
}

// Windows is text for predicting the next token: sample i is the Length tokens
// from token i on, and its targets are the Length tokens from i+1 on.
type Windows struct {
	tokens *Tokens
	length int
}

// NewWindows returns the windows of a length in tokens. It fails when there are
// not enough tokens for one. The tokens stay the caller's.
func NewWindows(tokens *Tokens, length int) (*Windows, error) {
	if length < 1 {
		return nil, fmt.Errorf("a sample of %d tokens: it needs at least one", length)
	}
	if tokens.Len() <= length {
		return nil, fmt.Errorf("%s: %d tokens are too few for a sample of %d and the one after it",
			tokens.Name(), tokens.Len(), length)
	}
	return &Windows{tokens: tokens, length: length}, nil
}

// Len returns how many windows there are.
func (w *Windows) Len() int { return w.tokens.Len() - w.length }

// Spec says what the samples are: numbers of tokens.
func (w *Windows) Spec() Spec {
	row := Field{Shape: []int{w.length}, DType: device.Int32}
	return Spec{Input: row, Target: row, Classes: w.tokens.Vocabulary()}
}

// Read writes window i.
func (w *Windows) Read(i int, into Sample) error {
	if err := w.tokens.Read(i, into.Input); err != nil {
		return err
	}
	return w.tokens.Read(i+1, into.Target)
}
