package pytorch_test

import (
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"

	"github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"
)

// reference makes Python values of those of gopickle, a general unpickler written
// by others. Shared containers stay shared. gopickle trusts its input, so it only
// gets bytes that our decoder accepted.
type reference map[any]any

func (r reference) value(v any) any {
	switch v := v.(type) {
	case *types.Dict:
		if r[v] == nil {
			dict := &pytorchtest.Dict{}
			r[v] = dict
			for _, entry := range *v {
				dict.Items = append(dict.Items, pytorchtest.Item{Key: r.value(entry.Key), Value: r.value(entry.Value)})
			}
		}
		return r[v]
	case *types.List:
		if r[v] == nil {
			list := &pytorchtest.List{}
			r[v] = list
			list.Items = r.items(*v)
		}
		return r[v]
	case *types.Tuple:
		return pytorchtest.Tuple(r.items(*v))
	case int:
		return int64(v)
	case *big.Int:
		return v.Uint64()
	default:
		return v
	}
}

func (r reference) items(from []any) []any {
	items := make([]any, len(from))
	for i := range from {
		items[i] = r.value(from[i])
	}
	return items
}

func compareWithGopickle(t *testing.T, data []byte) {
	t.Helper()
	theirs, err := pickle.Loads(string(data))
	if err != nil {
		t.Fatalf("gopickle: %v", err)
	}
	if err := pytorchtest.Equal(reference{}.value(theirs), pytorchtest.Value(decode(t, data))); err != nil {
		t.Error(err)
	}
}

func TestRealFilesDecodeAsGopickleDecodesThem(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			fatal.If(t, err)
			if len(data) > 1<<20 {
				t.Skip("gopickle takes long for it, and smaller files are of its kind")
			}
			compareWithGopickle(t, data)
		})
	}
}

// Protocol 0 is left out: gopickle does not undo its escapes. That protocol is
// compared with Python itself.
func TestGeneratedFilesDecodeAsGopickleDecodesThem(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	for _, layout := range pytorchtest.Layouts {
		tr := layout.Strip(pytorchtest.Random(pytorchtest.Options{Seed: 9, Devices: 2, Operations: 60}))
		for protocol := 1; protocol < 6; protocol++ {
			t.Run(fmt.Sprintf("%s/protocol %d", layout.Name, protocol), func(t *testing.T) {
				compareWithGopickle(t, pytorchtest.PythonPickle(pytorchtest.Value(tr), protocol))
			})
		}
		t.Run(layout.Name+"/C++", func(t *testing.T) { compareWithGopickle(t, pytorchtest.CPPPickle(pytorchtest.Value(tr), false)) })
		t.Run(layout.Name+"/written", func(t *testing.T) { compareWithGopickle(t, write(t, tr)) })
	}
}
