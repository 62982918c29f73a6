package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
)

// session tries operations on a device.
type session struct {
	device    *cuda.Device
	reference *reference
	pinned    alloc.Driver // memory of the host
	arrays    map[*operand]device.Array
	before    map[*operand]device.Array // what those that are changed held
	taken     []uint64
	repeats   int // the most for a measurement
	// act queues a trial's operation; tests do it badly.
	act func(*trial)
}

// verdict is what a trial showed.
type verdict struct {
	err     error
	skipped bool
	worst   float64 // the largest error as a part of what is allowed
	time    time.Duration
}

// try tries an operation: two runs that are equal bit for bit, a sample of rows
// that is right, and the time it takes.
func (s *session) try(t *trial) (v verdict) {
	defer s.release()
	defer func() {
		if r := recover(); r != nil {
			v.err = fmt.Errorf("panic: %v", r)
		}
	}()
	if err := s.prepare(t); err != nil {
		return verdict{err: err, skipped: errors.Is(err, alloc.ErrNoMemory)}
	}
	first, err := s.run(t)
	if err != nil {
		return verdict{err: err}
	}
	if v.worst, v.err = s.compare(t); v.err != nil {
		return v
	}
	again, err := s.run(t)
	if err == nil && first != again {
		err = errors.New("two runs differ")
	}
	if err != nil {
		v.err = err
		return v
	}
	v.time, v.err = s.measure(t)
	return v
}

func (s *session) array(d device.DType, n int) (device.Array, error) {
	addr, err := s.device.Malloc(max(int64(n)*d.Size(), 1))
	if err != nil {
		return device.Array{}, err
	}
	s.taken = append(s.taken, addr)
	return device.Array{Addr: addr, Len: n, DType: d}, nil
}

func (s *session) release() {
	_ = s.device.Synchronize() // a failure was reported, or is the next trial's
	for _, addr := range s.taken {
		s.device.Free(addr)
	}
	s.taken = nil
	s.reference.release()
}

// prepare makes the operands and fills them.
func (s *session) prepare(t *trial) error {
	s.arrays, s.before = make(map[*operand]device.Array), make(map[*operand]device.Array)
	for i, o := range t.operands {
		a, err := s.array(o.dtype, o.rows*o.cols)
		if err != nil {
			return err
		}
		s.arrays[o] = a
		if o.role == output || o.role == scratch {
			continue
		}
		s.fill(a, o.values, uint64(i))
		if o.role == changed {
			if s.before[o], err = s.array(o.dtype, a.Len); err != nil {
				return err
			}
			s.device.Copy(s.before[o].Buffer(), a.Buffer())
		}
	}
	return s.device.Synchronize()
}

// fill fills an array with values that the seed decides.
func (s *session) fill(a device.Array, v values, seed uint64) {
	switch {
	case v.below != 0:
		r := rand.New(rand.NewPCG(seed, 5))
		list := make([]int64, a.Len)
		for i := range list {
			list[i] = int64(float64(v.below) * math.Pow(r.Float64(), 3)) // some often, as words are
		}
		if a.DType == device.UInt8 {
			small := make([]byte, a.Len)
			for i := range small {
				small[i] = byte(list[i])
			}
			s.device.Upload(a.Buffer(), small)
			return
		}
		s.device.Upload(a.Buffer(), bytesOf(list))
	case v.deviation == 0:
		s.device.Fill(a, v.mean)
	default:
		s.device.Normal(a, v.mean, v.deviation, device.Seed{Seed: seed})
	}
}

// run does the operation once, on operands as they were, and returns what tells
// its results from others.
func (s *session) run(t *trial) (uint32, error) {
	for _, o := range t.operands {
		switch o.role {
		case input, scratch:
		case output:
			poison := math.NaN()
			if !o.dtype.IsFloat() {
				poison = 77
			}
			s.device.Fill(s.arrays[o], poison)
		case changed:
			s.device.Copy(s.arrays[o].Buffer(), s.before[o].Buffer())
		}
	}
	s.act(t)
	sum := uint32(0)
	for _, o := range t.operands {
		if !o.isResult() {
			continue
		}
		b, err := s.read(s.arrays[o], 0, min(o.bytes(), mostSummed))
		if err != nil {
			return 0, err
		}
		sum = crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), b)
	}
	return sum, s.device.Synchronize()
}

// mostSummed is how many bytes of a result two runs are compared by.
const mostSummed = 256 << 20

func (s *session) do(t *trial) {
	t.do(s.device, t.rows, func(o *operand) device.Array { return s.arrays[o] })
}

// read downloads a part of an array.
func (s *session) read(a device.Array, from, to int64) ([]byte, error) {
	b := make([]byte, to-from)
	return b, s.device.Download(b, device.Buffer{Addr: a.Addr + uint64(from), Bytes: to - from})
}

// compare computes a sample of rows on the processor and returns the largest
// error of the device's as a part of what is allowed.
func (s *session) compare(t *trial) (float64, error) {
	rows := sample(t.rows)
	content := func(o *operand, from map[*operand]device.Array) ([]byte, error) {
		return o.take(func(lo, hi int64) ([]byte, error) { return s.read(from[o], lo, hi) }, rows)
	}
	arrays := make(map[*operand]device.Array)
	for _, o := range t.operands {
		var err error
		if arrays[o], err = s.refer(t, o, content); err != nil {
			return 0, err
		}
	}
	t.do(s.reference, len(rows), func(o *operand) device.Array { return arrays[o] })
	worst := 0.0
	for i, o := range t.operands {
		if !o.isResult() {
			continue
		}
		off, err := s.error(o, arrays[o], content)
		if err != nil {
			return 0, err
		}
		if worst = max(worst, off/max(t.slack, 1)); worst > 1 {
			return 0, fmt.Errorf("operand %d is wrong by %.2g, and %.2g is allowed", i, off*rounding(o.dtype), max(t.slack, 1)*rounding(o.dtype))
		}
	}
	return worst, nil
}

// content returns a sample of an operand.
type content = func(*operand, map[*operand]device.Array) ([]byte, error)

// refer returns the reference's array of an operand, which holds what the
// device's held before the operation.
func (s *session) refer(t *trial, o *operand, content content) (device.Array, error) {
	d, from := o.dtype, s.arrays
	switch o.role {
	case scratch:
		return s.reference.array(d, 2*o.cols) // its types are twice as wide
	case changed:
		from = s.before
	case input, output:
	}
	if d.IsFloat() && !o.keeps && !t.exact {
		d = device.Float64
	}
	b, err := content(o, from)
	if err != nil {
		return device.Array{}, err
	}
	return s.reference.put(b, o.dtype, d)
}

// error returns how far the sample of a result is from the reference's, in
// roundings of its type.
func (s *session) error(o *operand, right device.Array, content content) (float64, error) {
	b, err := content(o, s.arrays)
	if err != nil {
		return 0, err
	}
	got, err := s.reference.numbers(b, o.dtype)
	if err != nil {
		return 0, err
	}
	raw := make([]byte, right.Buffer().Bytes)
	if err := s.reference.Download(raw, right.Buffer()); err != nil {
		return 0, err
	}
	want, err := s.reference.numbers(raw, right.DType)
	if err != nil {
		return 0, err
	}
	width := o.cols
	if o.part != aRow {
		width = len(want)
	}
	off, err := distance(got, want, width)
	return off / rounding(o.dtype), err
}

// The time that a measurement takes, about.
const measured = 30 * time.Millisecond

// measure returns how long the operation takes on the device.
func (s *session) measure(t *trial) (time.Duration, error) {
	once, err := s.device.Elapsed(func() { s.do(t) })
	if err != nil {
		return 0, err
	}
	if s.repeats == 0 {
		return once, nil
	}
	n := min(max(int(measured/max(once, time.Microsecond)), 1), s.repeats)
	all, err := s.device.Elapsed(func() {
		for range n {
			s.do(t)
		}
	})
	return all / time.Duration(n), err
}

// bytesOf returns the memory of a list.
func bytesOf[T any](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))
}
