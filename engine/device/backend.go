package device

// Backend is all operations of a device. See the package documentation for the
// rules that hold for all of it. A Backend belongs to one goroutine at a time.
type Backend interface {
	Transfers
	Elementwise
	Shapes
	Reductions
	MatMuls
	Normalizations
	Losses
	Lookups
	Random
	Attentions
	Convolutions
	Optimizers
	Scaling
}

// Transfers moves bytes between the host and the device and within the device.
type Transfers interface {
	// Upload copies len(src) bytes to the start of dst. src may be reused when
	// the call returns.
	Upload(dst Buffer, src []byte)
	// Download waits for every operation before it, then copies len(dst) bytes
	// from the start of src. It returns the first failure of the queue.
	Download(dst []byte, src Buffer) error
	// Fetch queues a copy of src, at most FetchBytes, to the host, and does not
	// wait for it. Download and Fetch are the only ways by which a value reaches
	// the host.
	Fetch(src Buffer) Fetched
	// Copy copies src.Bytes bytes; the ranges may overlap.
	Copy(dst, src Buffer)
	// Send queues a copy of src to dst in the memory of the device's host, after
	// the operations before it and beside those after it. Until the copy is done
	// nothing may write to src or touch dst.
	Send(dst, src Buffer) Crossing
	// Receive is Send in the other direction.
	Receive(dst, src Buffer) Crossing
	// Synchronize waits for every operation before it and returns the first
	// failure of the queue.
	Synchronize() error
}

// FetchBytes is the most that one Fetch copies.
const FetchBytes = 64

// Fetched is a small value on its way to the host. It belongs to the goroutine
// of the Backend, and must be waited for.
type Fetched interface {
	// Ready reports, without waiting, whether Wait would return at once.
	Ready() bool
	// Wait waits for the value and copies it to dst, of the size that was
	// fetched. It returns the first failure of the queue, and is called once.
	Wait(dst []byte) error
}

// Crossing is a copy between a device and its host that runs beside other
// operations. It belongs to the goroutine of the Backend, and must be waited for.
type Crossing interface {
	// Await orders all operations queued from now on after the copy. It does not
	// wait for the copy.
	Await()
	// Wait waits for the copy. It returns the first failure of the queue, and is
	// called once.
	Wait() error
}

// Shapes has the operations that rearrange elements.
type Shapes interface {
	// CopyStrided copies the elements of src to dst for every index of shape
	// (at most eight dimensions). Both have the same type. It makes views
	// contiguous (permute, transpose, slice, expand), and with a strided dst
	// writes into a slice. Two indexes must not meet in one element of dst.
	CopyStrided(dst, src Strided, shape []int)
}

// Reduction names how Reduce combines the elements of one group.
type Reduction uint8

// The reductions.
const (
	Sum Reduction = iota
	Mean
	Max // NaN when there is one
	reductionCount
)

// Check panics unless there is such a reduction.
func (r Reduction) Check(operation string) { checkNumber(operation, r, reductionCount) }

// Reductions has the operations that reduce many numbers to fewer. The sizes
// alone fix their order.
type Reductions interface {
	// Reduce treats src as [outer, n, inner] and reduces the middle:
	// dst[o,i] = r(src[o,0,i] … src[o,n-1,i]). outer·inner = dst.Len. With
	// outer 1 it is the gradient of an operand that was broadcast over leading
	// dimensions; with outer and inner 1 it reduces everything.
	Reduce(r Reduction, dst, src Array, outer, n, inner int)
	// Norm2 sets dst (one element) to the square root of
	// the sum of the squares of all elements of all of list; squares are added
	// in float64. No arrays: 0.
	Norm2(dst Array, list []Array)
	// AddSquares adds the squares of all elements of a list to sum, one float64,
	// which then goes through the values that Norm2 goes through: its Root, after the
	// parts of a list in order, is what Norm2 gives for the whole list.
	AddSquares(sum Array, list []Array)
	// Root sets dst, one element, to the square root of sum, one float64.
	Root(dst, sum Array)
}
