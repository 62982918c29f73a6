package simd

// Sift selects numbers of a row: number i of the result is number index[i] of the
// row, or 0.
type Sift struct {
	index                 [siftOut]uint32
	low, high, picked, of uint16 // masks: what is read, what is not 0, and what is written
}

// A row has at most so many numbers, and the result so many.
const (
	siftIn  = 32
	siftOut = 16
)

// Sifts reports whether there can be a Sift of n numbers of a row of width, on this
// processor.
func Sifts(width, n int) bool { return sifts && width <= siftIn && n <= siftOut }

// NewSift returns a Sift that makes n numbers of a row of width. from returns which
// number one is made of, or one that the row does not have for 0.
func NewSift(width, n int, from func(i int) int) (s Sift) {
	whole := uint32(1)<<(width-1)<<1 - 1
	s.low, s.high, s.of = uint16(whole), uint16(whole>>16), uint16(uint32(1)<<n-1)
	for i := range n {
		if x := from(i); x >= 0 && x < width {
			s.index[i] = uint32(x)
			s.picked |= 1 << i
		}
	}
	return s
}

// Grid describes where rows lie. Groups groups have Rows rows each. The other
// fields are distances, in numbers, from one row or group to the next, in the
// result (To) and in the source (From).
type Grid struct {
	Rows, Groups       int
	RowTo, RowFrom     int
	GroupTo, GroupFrom int
}

// Rows makes every row of dst of one of src. Only for what Sifts says yes of.
func (s *Sift) Rows(dst, src []float32, g *Grid) {
	if g.Rows > 0 && g.Groups > 0 {
		siftAVX512(&dst[0], &src[0], s, g)
	}
}

// Fold adds the numbers of one row to numbers of another row: number i to number
// to[i].
type Fold struct {
	index         [siftIn]uint32 // which is added to each
	of, low, high uint16         // masks: what is read, and what is added to
}

// NewFold returns a Fold of n numbers into a row of width, to different places. to
// returns where one belongs, or a place that the row does not have for none.
func NewFold(width, n int, to func(i int) int) (f Fold) {
	f.of = uint16(uint32(1)<<n - 1)
	for i := range n {
		at := to(i)
		if at < 0 || at >= width {
			continue
		}
		f.index[at] = uint32(i)
		if at < siftOut {
			f.low |= 1 << at
		} else {
			f.high |= 1 << (at - siftOut)
		}
	}
	return f
}

// Rows adds every row of src to one of dst. Only for what Sifts says yes of.
func (f *Fold) Rows(dst, src []float32, g *Grid) {
	if g.Rows > 0 && g.Groups > 0 {
		foldAVX512(&dst[0], &src[0], f, g)
	}
}
