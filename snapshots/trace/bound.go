package trace

import (
	"fmt"
	"math"
)

// Bound says how many bytes of memory the process may take to read a file and
// look at what is in it: so many whatever the file is, and more for every byte
// of its contents that has come, unpacked. So the claims of a file are worth
// nothing, and a small file that unpacks to much is let go on only as long as
// what is made of it is what snapshots need.
//
// The zero value is no bound.
type Bound struct {
	Least   int64 // whatever was read
	PerByte int64 // for each byte that was read
	Most    int64 // however much was read; 0 for no limit
	Window  int64 // unpacking keeps this much of what was read
}

// FixedBound returns the bound of n bytes, whatever is read.
func FixedBound(n int64) Bound { return Bound{Least: n} }

// DefaultBound is the bound where none is set. Of it, 16 times the contents' size
// and 69 MiB are room for what is made of them. Real snapshots that were grown to
// large ones took, as counted, 0.9 to 1.8 times their size, 7.8 times without a
// history, where a block of 200 bytes and more stands in 30, and 10.2 times as
// PyTorch 2.0 wrote them.
var DefaultBound = Bound{Least: 128 << 20, PerByte: 24}

// After returns the bound once so many bytes have been read.
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

// Refusal is why contents of which so many bytes have been read are refused.
func (b Bound) Refusal(read int64) string {
	return fmt.Sprintf("the contents need more than the allowed %d MiB (see --max-memory)", b.After(read)>>20)
}

// ownMemory is what the program takes before it reads anything.
const ownMemory = 24 << 20

// Room returns how much of the bound the contents may take once so many bytes
// have been read. A third is left to what cannot be counted: garbage that is not
// collected yet, lists that are moved as they grow, and answers about the trace.
func (b Bound) Room(read int64) int64 {
	if b == (Bound{}) {
		return math.MaxInt64
	}
	return (b.After(read)-ownMemory)/3*2 - min(b.Window, read)
}
