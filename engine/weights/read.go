package weights

import (
	"fmt"
	"os"
	"slices"

	"github.com/nlpodyssey/gopickle/pytorch"
	"github.com/nlpodyssey/gopickle/types"
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
func Read(path string) (arrays []Array, err error) {
	if err := check(path); err != nil {
		return nil, err
	}
	defer func() {
		// The scan leaves nothing to panic about; should it have missed
		// something, the file is at fault all the same.
		if r := recover(); r != nil {
			arrays, err = nil, &FormatError{path, fmt.Sprintf("it cannot be read: %v", r)}
		}
	}()
	root, err := pytorch.Load(path)
	if err != nil {
		return nil, &FormatError{path, err.Error()}
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	c := collector{path: path, budget: repeats * info.Size()}
	if err := c.collect("", root, maxDepth); err != nil {
		return nil, err
	}
	if len(c.arrays) == 0 {
		return nil, &FormatError{path, "there is no tensor in it"}
	}
	return c.arrays, nil
}

// collector walks over what gopickle has built.
type collector struct {
	path   string
	arrays []Array
	budget int64 // elements that may still come
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
func (c *collector) collect(name string, v any, depth int) error {
	if depth == 0 {
		return &FormatError{c.path, fmt.Sprintf("dictionaries lie more than %d deep in each other", maxDepth)}
	}
	switch v := v.(type) {
	case *types.OrderedDict:
		for e := v.List.Front(); e != nil; e = e.Next() {
			entry := e.Value.(*types.OrderedDictEntry)
			if err := c.collect(join(name, entry.Key), entry.Value, depth-1); err != nil {
				return err
			}
		}
	case *types.Dict:
		for _, entry := range *v {
			if err := c.collect(join(name, entry.Key), entry.Value, depth-1); err != nil {
				return err
			}
		}
	case *pytorch.Tensor:
		values, err := materialise(v, c.budget)
		if err != nil {
			return &FormatError{c.path, name + ": " + err.Error()}
		}
		c.budget -= int64(len(values))
		c.arrays = append(c.arrays, Array{name, v.Size, values})
	}
	return nil
}

func join(name string, key any) string {
	if name == "" {
		return fmt.Sprint(key)
	}
	return fmt.Sprintf("%s.%v", name, key)
}

// materialise copies the elements of a view in order, at most limit of them.
func materialise(t *pytorch.Tensor, limit int64) ([]float32, error) {
	at, n, err := element(t.Source)
	if err != nil {
		return nil, err
	}
	if slices.Contains(t.Size, 0) {
		return nil, nil
	}
	size, last := 1, t.StorageOffset
	for i, extent := range t.Size {
		if int64(size) > limit/int64(extent) {
			return nil, fmt.Errorf("shape %v is too large for this file", t.Size)
		}
		size *= extent
		if last += (extent - 1) * t.Stride[i]; last >= n {
			break // before the sum can overflow
		}
	}
	if last >= n {
		return nil, fmt.Errorf("shape %v reaches beyond its storage of %d elements", t.Size, n)
	}
	values := make([]float32, 0, size)
	index := make([]int, len(t.Size))
	for offset := t.StorageOffset; ; {
		values = append(values, at(offset))
		d := len(index) - 1
		for ; d >= 0; d-- {
			index[d]++
			offset += t.Stride[d]
			if index[d] < t.Size[d] {
				break
			}
			offset -= index[d] * t.Stride[d]
			index[d] = 0
		}
		if d < 0 {
			return values, nil
		}
	}
}

// element returns how to read an element of a storage, and how many there are.
func element(s pytorch.StorageInterface) (at func(i int) float32, n int, err error) {
	switch s := s.(type) {
	case *pytorch.FloatStorage:
		return func(i int) float32 { return s.Data[i] }, len(s.Data), nil
	case *pytorch.HalfStorage:
		return func(i int) float32 { return s.Data[i] }, len(s.Data), nil
	case *pytorch.BFloat16Storage:
		return func(i int) float32 { return s.Data[i] }, len(s.Data), nil
	case *pytorch.DoubleStorage:
		return func(i int) float32 { return float32(s.Data[i]) }, len(s.Data), nil
	case *pytorch.LongStorage:
		return func(i int) float32 { return float32(s.Data[i]) }, len(s.Data), nil
	case *pytorch.IntStorage:
		return func(i int) float32 { return float32(s.Data[i]) }, len(s.Data), nil
	case *pytorch.ShortStorage:
		return func(i int) float32 { return float32(s.Data[i]) }, len(s.Data), nil
	case *pytorch.CharStorage:
		return func(i int) float32 { return float32(s.Data[i]) }, len(s.Data), nil
	case *pytorch.ByteStorage:
		return func(i int) float32 { return float32(s.Data[i]) }, len(s.Data), nil
	case *pytorch.BoolStorage:
		return func(i int) float32 { return truth(s.Data[i]) }, len(s.Data), nil
	}
	return nil, 0, fmt.Errorf("elements of %T", s)
}

func truth(b bool) float32 {
	if b {
		return 1
	}
	return 0
}
