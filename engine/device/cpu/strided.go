package cpu

import "github.com/memtop/memtop/engine/device"

// stridedJob copies rows: runs along the last dimension. Dimensions of size 1
// are gone, and neighbours that lie together in both views are joined.
type stridedJob struct {
	dst, src         view
	dims             int // without the last
	shape            [device.MaxDims]int
	dstStep, srcStep [device.MaxDims]int
	rows, perPart    int
	row              int // elements
	rowDst, rowSrc   int // strides along a row
}

// CopyStrided implements device.Shapes.
func (b *Backend) CopyStrided(dst, src device.Strided, shape []int) {
	if !device.CheckStrided(dst, src, shape) {
		return
	}
	j := &b.jobs.strided
	*j = stridedJob{rows: 1, row: 1}
	j.simplify(dst.Strides, src.Strides, shape)
	j.dst, j.src = b.resolve(dst.Base), b.resolve(src.Base)
	j.perPart = max(1, partSize/j.row)
	b.pool.run(j, (j.rows+j.perPart-1)/j.perPart)
}

// simplify fills in the dimensions.
func (j *stridedJob) simplify(dst, src, shape []int) {
	n := 0
	for i, size := range shape {
		switch {
		case size == 1:
			continue
		case n > 0 && j.dstStep[n-1] == size*dst[i] && j.srcStep[n-1] == size*src[i]:
			j.shape[n-1] *= size
			j.dstStep[n-1], j.srcStep[n-1] = dst[i], src[i]
			continue
		}
		j.shape[n], j.dstStep[n], j.srcStep[n] = size, dst[i], src[i]
		n++
	}
	if n > 0 {
		n--
		j.row, j.rowDst, j.rowSrc = j.shape[n], j.dstStep[n], j.srcStep[n]
	}
	j.dims = n
	for _, size := range j.shape[:n] {
		j.rows *= size
	}
}

func (j *stridedJob) run(_ *worker, part int) {
	for row := part * j.perPart; row < min(j.rows, (part+1)*j.perPart); row++ {
		dst, src := j.place(row)
		switch j.dst.kind.Size() {
		case 1:
			copyRow[uint8](j, dst, src)
		case 2:
			copyRow[uint16](j, dst, src)
		case 4:
			copyRow[uint32](j, dst, src)
		default:
			copyRow[uint64](j, dst, src)
		}
	}
}

// place returns the offsets of a row's first element.
func (j *stridedJob) place(row int) (dst, src int) {
	for d := j.dims - 1; d >= 0; d-- {
		i := row % j.shape[d]
		row /= j.shape[d]
		dst += i * j.dstStep[d]
		src += i * j.srcStep[d]
	}
	return dst, src
}

func copyRow[T any](j *stridedJob, dst, src int) {
	to := slice[T](j.dst, dst, (j.row-1)*j.rowDst+1)
	from := slice[T](j.src, src, (j.row-1)*j.rowSrc+1)
	if j.rowDst == 1 && j.rowSrc == 1 {
		copy(to, from)
		return
	}
	for i := range j.row {
		to[i*j.rowDst] = from[i*j.rowSrc]
	}
}
