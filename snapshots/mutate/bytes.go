package mutate

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

type byteChange struct {
	name string
	do   func(r *rand.Rand, file []byte) []byte
}

var byteChanges = []byteChange{
	{"flip a bit", func(r *rand.Rand, file []byte) []byte {
		file[r.IntN(len(file))] ^= 1 << r.IntN(8)
		return file
	}},
	{"set a byte", func(r *rand.Rand, file []byte) []byte {
		file[r.IntN(len(file))] = choose(r, []byte{0, 1, 0x7f, 0x80, 0xff, '\n', '"', byte(r.Uint32())})
		return file
	}},
	{"cut the end", func(r *rand.Rand, file []byte) []byte { return file[:r.IntN(len(file))] }},
	{"cut bytes", func(r *rand.Rand, file []byte) []byte {
		from, to := stretch(r, file)
		return slices.Delete(file, from, to)
	}},
	{"insert bytes", func(r *rand.Rand, file []byte) []byte {
		more := make([]byte, 1+r.IntN(32))
		for i := range more {
			more[i] = byte(r.Uint32())
		}
		return slices.Insert(file, r.IntN(len(file)), more...)
	}},
	{"duplicate bytes", func(r *rand.Rand, file []byte) []byte {
		from, to := stretch(r, file)
		return slices.Insert(file, r.IntN(len(file)), bytes.Repeat(file[from:to], 1+r.IntN(3))...)
	}},
	{"copy bytes over", func(r *rand.Rand, file []byte) []byte {
		from, to := stretch(r, file)
		copy(file[r.IntN(len(file)):], bytes.Clone(file[from:to]))
		return file
	}},
	{"zero bytes", func(r *rand.Rand, file []byte) []byte {
		from, to := stretch(r, file)
		clear(file[from:to])
		return file
	}},
	{"change a length", func(r *rand.Rand, file []byte) []byte {
		n := binary.LittleEndian.AppendUint64(nil, choose(r, lengths))
		copy(file[r.IntN(len(file)):], n[:choose(r, []int{1, 2, 4, 8})])
		return file
	}},
}

// lengths are what a file may declare without having it.
var lengths = []uint64{0, 1, 0x7f, 0xff, 1 << 16, 1 << 20, 1<<28 - 1, 1 << 31, 1<<31 - 1, 1<<32 - 1, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// stretch returns a range of the file, mostly a short one.
func stretch(r *rand.Rand, file []byte) (from, to int) {
	from = r.IntN(len(file))
	return from, min(len(file), from+1+r.IntN(1<<r.IntN(14)))
}

// damageBytes changes bytes whatever they mean.
func damageBytes(r *rand.Rand, file []byte) ([]byte, string) {
	if len(file) == 0 {
		return file, ""
	}
	c := choose(r, byteChanges)
	return c.do(r, bytes.Clone(file)), c.name
}
