package weights

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/memtop/memtop/engine/device"
)

// Array is a named array of numbers, contiguous, the last dimension fastest.
type Array struct {
	Name   string
	Shape  []int
	Values []float32
}

// Read returns the tensors of a .pt file that are in its dictionary, or in a
// dictionary in it, in the order of the file. A file that is damaged or holds
// something else than weights is a [FormatError].
func Read(path string) ([]Array, error) {
	z, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer z.Close() //nolint:errcheck // only read
	c := collector{numbers: make(map[*zip.File][]byte), budget: repeats * size}
	root, err := read(&z.Reader)
	if err == nil {
		err = c.collect("", root, maxDepth)
	}
	if err == nil && len(c.arrays) == 0 {
		err = errors.New("there is no tensor in it")
	}
	if err != nil {
		return nil, &FormatError{path, err.Error()}
	}
	return c.arrays, nil
}

// collector reads the tensors of a dictionary.
type collector struct {
	arrays  []Array
	numbers map[*zip.File][]byte // those that were read
	budget  int64                // elements that may still come
}

// repeats is how many elements there may be for every byte of the file. Views
// can repeat elements without taking room in the file, and tied weights come
// several times; a file of views of nothing else is not weights.
const repeats = 4

// maxDepth is how deep dictionaries may lie in each other. Checkpoints of
// training scripts have them three deep.
const maxDepth = 8

// collect adds the tensors below a value. A dictionary within a dictionary
// gives its name to what is in it.
func (c *collector) collect(name string, v value, depth int) error {
	if depth == 0 {
		return fmt.Errorf("dictionaries lie more than %d deep in each other", maxDepth)
	}
	switch v.kind {
	case kindDict:
		for _, e := range *v.dict {
			if err := c.collect(strings.TrimPrefix(name+"."+e.name, "."), e.value, depth-1); err != nil {
				return err
			}
		}
	case kindTensor:
		values, err := c.elements(v.view)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.budget -= int64(len(values))
		c.arrays = append(c.arrays, Array{name, v.view.size, values})
	default: // a number of a training script
	}
	return nil
}

// view is a tensor: which elements of a storage it shows, in which order.
type view struct {
	storage
	offset       int
	size, stride []int
}

// storage is a file of numbers of one type.
type storage struct {
	element
	file *zip.File
	n    int // elements
}

// elements returns the elements of a view in order.
func (c *collector) elements(v *view) ([]float32, error) {
	if slices.Contains(v.size, 0) {
		return nil, nil
	}
	n, err := v.check(c.budget)
	if err != nil {
		return nil, err
	}
	raw, ok := c.numbers[v.file]
	if !ok {
		if raw, err = content(v.file, v.file.UncompressedSize64); err != nil {
			return nil, err
		}
		c.numbers[v.file] = raw
	}
	values, index := make([]float32, 0, n), make([]int, len(v.size))
	for offset := v.offset; ; {
		values = append(values, v.at(raw[offset*v.bytes:]))
		d := len(index) - 1
		for ; d >= 0; d-- {
			index[d]++
			offset += v.stride[d]
			if index[d] < v.size[d] {
				break
			}
			offset -= index[d] * v.stride[d]
			index[d] = 0
		}
		if d < 0 {
			return values, nil
		}
	}
}

// check returns the number of elements, if it is at most limit and all of them are
// in the storage.
func (v *view) check(limit int64) (n int, err error) {
	n, last := 1, v.offset
	for i, extent := range v.size {
		if int64(n) > limit/int64(extent) {
			return 0, fmt.Errorf("shape %v is too large for this file", v.size)
		}
		n *= extent
		if last += (extent - 1) * v.stride[i]; last >= v.n {
			break // before the sum can overflow
		}
	}
	if last >= v.n {
		return 0, fmt.Errorf("shape %v reaches beyond its storage of %d elements", v.size, v.n)
	}
	return n, nil
}

// element is a type of numbers: its bytes, and how one is read.
type element struct {
	bytes int
	at    func(raw []byte) float32
}

var order = binary.LittleEndian

// elements are the types of storages by their class.
var elements = map[string]element{
	"FloatStorage":    {4, func(raw []byte) float32 { return math.Float32frombits(order.Uint32(raw)) }},
	"DoubleStorage":   {8, func(raw []byte) float32 { return float32(math.Float64frombits(order.Uint64(raw))) }},
	"HalfStorage":     {2, func(raw []byte) float32 { return device.Float16ToFloat32(order.Uint16(raw)) }},
	"BFloat16Storage": {2, func(raw []byte) float32 { return device.BFloat16ToFloat32(order.Uint16(raw)) }},
	"LongStorage":     {8, func(raw []byte) float32 { return float32(int64(order.Uint64(raw))) }},
	"IntStorage":      {4, func(raw []byte) float32 { return float32(int32(order.Uint32(raw))) }},
	"ShortStorage":    {2, func(raw []byte) float32 { return float32(int16(order.Uint16(raw))) }},
	"CharStorage":     {1, func(raw []byte) float32 { return float32(int8(raw[0])) }},
	"ByteStorage":     {1, func(raw []byte) float32 { return float32(raw[0]) }},
	"BoolStorage":     {1, func(raw []byte) float32 { return float32(min(raw[0], 1)) }},
}
