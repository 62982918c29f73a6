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
	ahead  ahead // what was read ahead in it
	done   bool  // nothing more will be
}

// blocks keeps the windows' memory for the next file. If a program reads many
// small files, clearing new memory would cost more than reading them.
var blocks = sync.Pool{New: func() any { return &block{buf: make([]byte, blockStart+blockSize)} }}

// input reads blocks in order. If it has a crew, workers read ahead in them.
type input struct {
	ctx    context.Context
	reader io.Reader
	offset int64 // bytes read
	ended  bool
	size   int   // of a block
	total  int64 // length of the input in bytes, 0 when not known
	crew   *crew // nil for none
}

func newInput(ctx context.Context, r io.Reader, total int64) *input {
	return &input{ctx: ctx, reader: r, size: blockSize, total: total}
}

// next returns the next block, and the caller owns it then. The caller must not
// call next after the last block.
func (in *input) next() *block {
	if in.crew != nil {
		return in.crew.next()
	}
	return in.read()
}

// left returns how many bytes of the input are still to be read, 0 if not known.
func (in *input) left() int64 { return max(0, in.total-in.offset) }

// read reads a block. Only the last is not full.
func (in *input) read() *block {
	b := blocks.Get().(*block)
	b.end, b.offset, b.last, b.err, b.done = blockStart, in.offset, false, nil, false
	b.ahead.clear()
	for b.end < blockStart+in.size && !b.last {
		n, err := in.reader.Read(b.buf[b.end : blockStart+in.size])
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
	in.ended = b.last
	return b
}

// recycle gives a block's memory back. The block may be nil.
func (in *input) recycle(b *block) {
	if b != nil {
		blocks.Put(b)
	}
}

// release ends the reading. It waits for the crew, and gives back the memory of
// the crew and of a block.
func (in *input) release(b *block) {
	in.recycle(b)
	if in.crew != nil {
		in.crew.stop()
	}
}
