package trace

import (
	"fmt"
	"math"
)

// Bound says how many bytes of memory the process may take to read a file and to
// answer questions about it: a fixed number, and more for every byte of unpacked
// contents that has been read. So the bound does not trust the sizes that a file
// declares. If a small file unpacks to much data, memtop reads on only as long as
// the data takes no more memory per byte than real snapshots take.
//
// The zero value is no bound.
type Bound struct {
	Least   int64 // whatever was read
	PerByte int64 // for each byte that was read
	Most    int64 // however much was read; 0 for no limit
	Window  int64 // unpacking keeps this much of what was read
}

// FixedBound returns a bound of n bytes for any file.
func FixedBound(n int64) Bound { return Bound{Least: n} }

// DefaultBound is the bound if the user sets none. Of it, 16 times the contents'
// size and 69 MiB are room for the decoded contents. We counted how much real
// snapshots take after they were grown to large ones: 0.9 to 1.8 times their
// size; 7.8 times without a history, because 30 bytes in the file become a block
// of 200 bytes and more; and 10.2 times in the format of PyTorch 2.0.
var DefaultBound = Bound{Least: 128 << 20, PerByte: 24}

// After returns the bound after read bytes have been read.
func (b Bound) After(read int64) int64 {
	bound := int64(math.MaxInt64)
	if b.PerByte == 0 || read < (bound-b.Least)/b.PerByte {
		bound = b.Least + b.PerByte*read
	}
	if b.Most > 0 {
		bound = min(bound, b.Most)
	}
	return bound
}

// Refusal returns the reason for refusing a file after read bytes of its
// contents.
func (b Bound) Refusal(read int64) string {
	return fmt.Sprintf("the contents need more than the allowed %d MiB (see --max-memory)", b.After(read)>>20)
}

// ownMemory is how many bytes the program takes before it reads anything.
const ownMemory = 24 << 20

// Room returns how much of the bound the contents may take after read bytes have
// been read. A third of the bound is left for memory that the reader cannot
// count: garbage that is not collected yet, lists that are moved as they grow,
// and answers about the trace.
func (b Bound) Room(read int64) int64 {
	if b == (Bound{}) {
		return math.MaxInt64
	}
	return (b.After(read)-ownMemory)/3*2 - min(b.Window, read)
}
