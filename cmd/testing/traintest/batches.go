package traintest

import (
	"context"
	"testing"

	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
)

// lengths are batches of the built-in text whose samples have another length in
// every step.
type lengths struct {
	tokens *data.Tokens
	length func(step int) int // nil is always the same
	number int64
}

func newLengths(t testing.TB, length func(step int) int) *lengths {
	t.Helper()
	if length == nil {
		length = func(int) int { return usual }
	}
	return &lengths{tokens: data.Corpus(), length: length}
}

// spec says what the samples of the next batch are.
func (l *lengths) spec() data.Spec {
	row := data.Field{Shape: []int{l.length(int(l.number) + 1)}, DType: device.Int32}
	return data.Spec{Input: row, Target: row, Classes: l.tokens.Vocabulary()}
}

// Next returns a batch of consecutive pieces of the text.
func (l *lengths) Next(ctx context.Context) (*data.Batch, error) {
	b := data.Empty(l.spec(), batch)
	b.Number = l.number
	for i := range batch {
		at := (int(l.number)*batch + i) * window % (l.tokens.Len() - window)
		input, target := b.Part(i, 1)
		if err := l.tokens.Read(at, input); err != nil {
			return nil, err
		}
		if err := l.tokens.Read(at+1, target); err != nil {
			return nil, err
		}
	}
	l.number++
	return b, ctx.Err()
}

// Position is the number of the next batch.
func (l *lengths) Position() int64 { return l.number }
