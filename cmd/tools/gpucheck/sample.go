package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
)

// mostSampled is how many rows of an operation are computed again.
const mostSampled = 8

// sample returns the numbers of the rows to compute again: the first, the last
// and, unless a few rows are much of the work, some between, the same in every run.
func sample(rows int) []int {
	if rows == 1 {
		return []int{0}
	}
	list := []int{0, rows - 1}
	if rows < 4*mostSampled {
		return list
	}
	r := rand.New(rand.NewPCG(1, uint64(rows)))
	for len(list) < mostSampled {
		if i := r.IntN(rows); !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}

// take returns what rows of an operation need of the operand's bytes.
func (o *operand) take(read func(from, to int64) ([]byte, error), rows []int) ([]byte, error) {
	if o.part == whole {
		return read(0, o.bytes())
	}
	size := o.dtype.Size()
	if o.part == aRow {
		var taken []byte
		for _, row := range rows {
			line := int64(o.cols) * size
			b, err := read(int64(row)*line, int64(row+1)*line)
			if err != nil {
				return nil, err
			}
			taken = append(taken, b...)
		}
		return taken, nil
	}
	all, err := read(0, o.bytes())
	if err != nil {
		return nil, err
	}
	taken := make([]byte, 0, int64(o.rows*len(rows))*size)
	for line := range slices.Chunk(all, o.cols*int(size)) {
		for _, column := range rows {
			taken = append(taken, line[int64(column)*size:int64(column+1)*size]...)
		}
	}
	return taken, nil
}

// reference computes samples on the processor.
type reference struct {
	*cpu.Device
	taken []uint64
}

func (r *reference) array(d device.DType, n int) (device.Array, error) {
	addr, err := r.Malloc(max(int64(n)*d.Size(), 1))
	if err != nil {
		return device.Array{}, err
	}
	r.taken = append(r.taken, addr)
	return device.Array{Addr: addr, Len: n, DType: d}, nil
}

// release gives all arrays back.
func (r *reference) release() {
	for _, addr := range r.taken {
		r.Free(addr)
	}
	r.taken = nil
}

// put returns an array with bytes of one type as another.
func (r *reference) put(content []byte, from, to device.DType) (device.Array, error) {
	a, err := r.array(from, len(content)/int(from.Size()))
	if err != nil {
		return a, err
	}
	r.Upload(a.Buffer(), content)
	if from == to {
		return a, nil
	}
	b, err := r.array(to, a.Len)
	if err == nil {
		r.Cast(b, a)
	}
	return b, err
}

// numbers returns bytes of a type as numbers.
func (r *reference) numbers(content []byte, d device.DType) ([]float64, error) {
	a, err := r.put(content, d, device.Float64)
	if err != nil {
		return nil, err
	}
	list := make([]float64, a.Len)
	return list, r.Download(bytesOf(list), a.Buffer())
}

// rounding is the relative error that an operation may have for storing its
// result in a type; for the types of arithmetic that of functions and sums.
func rounding(d device.DType) float64 {
	switch d {
	case device.BFloat16:
		return 0x1p-8
	case device.Float16:
		return 0x1p-11
	case device.Float32:
		return 4e-6
	case device.Float64:
		return 1e-12
	default:
		return 1e-3 // of codes, few of which are the next one
	}
}

// distance is the largest relative L2 error of a row of width numbers. What is
// no number is infinitely far from what is.
func distance(got, want []float64, width int) (float64, error) {
	if len(got) != len(want) || len(want) == 0 {
		return 0, fmt.Errorf("%d numbers, want %d", len(got), len(want))
	}
	worst := 0.0
	for from := 0; from < len(want); from += width {
		off, size := 0.0, 0.0
		for i := from; i < min(from+width, len(want)); i++ {
			if g, w := got[i], want[i]; g != w {
				off += (g - w) * (g - w)
			}
			size += want[i] * want[i]
		}
		switch {
		case off == 0:
		case size == 0 || math.IsNaN(off) || math.IsInf(size, 0):
			return math.Inf(1), nil
		default:
			worst = max(worst, math.Sqrt(off/size))
		}
	}
	return worst, nil
}
