package pytorch_test

import (
	"bytes"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/pytorch"

	"github.com/nlpodyssey/gopickle/pickle"
	"github.com/nlpodyssey/gopickle/types"
)

// reference compares a pickle as read by gopickle, a general unpickler written
// by others, with the Python value of the trace that we decode from it. gopickle
// trusts its input, so it only gets bytes that our decoder accepted.
type reference struct {
	same   map[[2]any]bool // shared containers compared already
	signed bool            // the writer cast unsigned integers to signed ones
}

func (r *reference) equal(want, got any, path string) error {
	switch want := want.(type) {
	case *types.Dict:
		return r.equalDict(want, got, path)
	case *types.List:
		list, ok := got.(*pytorchtest.List)
		if !ok || want.Len() != len(list.Items) {
			return fmt.Errorf("%s: a list of %d became %T", path, want.Len(), got)
		}
		return r.once(want, list, func() error { return r.equalItems(*want, list.Items, path) })
	case *types.Tuple:
		tuple, ok := got.(pytorchtest.Tuple)
		if !ok || want.Len() != len(tuple) {
			return fmt.Errorf("%s: a tuple of %d became %v", path, want.Len(), got)
		}
		return r.equalItems(*want, tuple, path)
	default:
		if r.scalar(want) != r.scalar(got) {
			return fmt.Errorf("%s: %v (%T) became %v (%T)", path, want, want, got, got)
		}
		return nil
	}
}

// once runs compare unless the two containers were compared before.
func (r *reference) once(want, got any, compare func() error) error {
	key := [2]any{want, got}
	if r.same[key] {
		return nil
	}
	r.same[key] = true
	return compare()
}

func (r *reference) equalItems(want, got []any, path string) error {
	for i := range want {
		if err := r.equal(want[i], got[i], fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *reference) equalDict(want *types.Dict, got any, path string) error {
	dict, ok := got.(*pytorchtest.Dict)
	if !ok || want.Len() != len(dict.Items) {
		return fmt.Errorf("%s: the dict %v became %v", path, want, got)
	}
	return r.once(want, dict, func() error {
		for _, item := range dict.Items {
			value, ok := want.Get(item.Key)
			if !ok {
				return fmt.Errorf("%s: the key %v is not in the pickle", path, item.Key)
			}
			if err := r.equal(value, item.Value, fmt.Sprintf("%s[%q]", path, item.Key)); err != nil {
				return err
			}
		}
		return nil
	})
}

// scalar brings the two sides' numbers and strings to one form.
func (r *reference) scalar(v any) string {
	if n, ok := v.(uint64); ok && r.signed {
		v = int64(n)
	}
	switch v := v.(type) {
	case int, int64, uint64, *big.Int:
		return fmt.Sprintf("integer %d", v)
	case pytorchtest.Fresh:
		return fmt.Sprintf("text %q", string(v))
	case string:
		return fmt.Sprintf("text %q", v)
	default:
		return fmt.Sprintf("%T %v", v, v)
	}
}

func compareWithGopickle(t *testing.T, data []byte, signed bool) {
	t.Helper()
	ours, err := pytorch.Decode(t.Context(), bytes.NewReader(data), pytorch.Options{Total: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := pickle.Loads(string(data))
	if err != nil {
		t.Fatalf("gopickle: %v", err)
	}
	r := &reference{same: map[[2]any]bool{}, signed: signed}
	if err := r.equal(theirs, pytorchtest.Value(ours), "snapshot"); err != nil {
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
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > 1<<20 {
				t.Skip("gopickle takes long for it, and smaller files are of its kind")
			}
			compareWithGopickle(t, data, false)
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
				compareWithGopickle(t, pytorchtest.PythonPickle(pytorchtest.Value(tr), protocol), false)
			})
		}
		t.Run(layout.Name+"/C++", func(t *testing.T) {
			compareWithGopickle(t, pytorchtest.CPPPickle(pytorchtest.Value(tr), false), true)
		})
		t.Run(layout.Name+"/written", func(t *testing.T) { compareWithGopickle(t, write(t, tr), false) })
	}
}
