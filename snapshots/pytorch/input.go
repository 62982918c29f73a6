package pytorch

import (
	"context"
	"errors"
	"io"
	"sync"
)

const (
	// blockSize is how much of the input is read at once.
	blockSize = 1 << 19
	// blockStart is where a block's bytes begin in its memory. Before them is
	// room for the unread rest of the block before.
	blockStart = longestLine
)

// block is a piece of the input.
type block struct {
	buf    []byte
	end    int   // of the bytes, which begin at blockStart
	offset int64 // in the input, of the first byte
	last   bool  // the input ends with it
	err    error // the error that ended the input, nil for its end
}

// blocks keeps the windows' memory for the next file. If a program reads many
// small files, clearing new memory would cost more than reading them.
var blocks = sync.Pool{New: func() any { return &block{buf: make([]byte, blockStart+blockSize)} }}

// input reads blocks in order.
type input struct {
	ctx    context.Context
	reader io.Reader
	offset int64 // bytes read
	total  int64 // length of the input in bytes, 0 when not known
}

func newInput(ctx context.Context, r io.Reader, total int64) *input {
	return &input{ctx: ctx, reader: r, total: total}
}

// next returns the next block, and the caller owns it then. Only the last is not
// full, and the caller must not call next after it.
func (in *input) next() *block {
	b := blocks.Get().(*block)
	b.end, b.offset, b.last, b.err = blockStart, in.offset, false, nil
	for b.end < blockStart+blockSize && !b.last {
		n, err := in.reader.Read(b.buf[b.end : blockStart+blockSize])
		b.end += n
		if err == nil {
			err = in.ctx.Err()
		}
		if err != nil {
			b.last = true
			if !errors.Is(err, io.EOF) {
				b.err = err
			}
		}
	}
	in.offset += int64(b.end - blockStart)
	return b
}

// recycle gives a block's memory back. The block may be nil.
func (in *input) recycle(b *block) {
	if b != nil {
		blocks.Put(b)
	}
}
