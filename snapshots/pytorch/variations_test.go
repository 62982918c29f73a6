package pytorch_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// sample is a snapshot with every key that any PyTorch writes outside a history.
func sample() *trace.Trace {
	newest := pytorchtest.Layouts[10]
	return newest.Strip(pytorchtest.Random(pytorchtest.Options{Seed: 21, Devices: 2, Operations: 150}))
}

func TestKeysMayStandInAnyOrder(t *testing.T) {
	fatal.IfShort(t)
	want := sample()
	for seed := range uint64(2) {
		shuffled := pytorchtest.Change(pytorchtest.Value(want), pytorchtest.Shuffle(seed))
		for name, encode := range encodings() {
			t.Run(fmt.Sprintf("seed %d/%s", seed, name), func(t *testing.T) {
				got := decode(t, encode(shuffled))
				fatal.If(t, pytorchtest.Equal(pytorchtest.Value(want), pytorchtest.Value(got)))
			})
		}
	}
}

// TestAnyKeyMayBeMissing removes one key everywhere. The rest must be read,
// unless the key decides the kind of a record.
func TestAnyKeyMayBeMissing(t *testing.T) {
	fatal.IfShort(t)
	whole := pytorchtest.Value(sample())
	telling := map[string]bool{
		"segments": true, "action": true, "blocks": true,
		"name": true, "filename": true, "line": true, "stage": true, "device": true, "state": true,
		"size": true, "time_us": true,
	}
	for key := range pytorchtest.Keys(whole) {
		t.Run(key, func(t *testing.T) {
			want := pytorchtest.Change(whole, pytorchtest.Drop(key))
			got := decode(t, pytorchtest.PythonPickle(want, 4))
			err := pytorchtest.Equal(want, pytorchtest.Value(got))
			if err != nil && !telling[key] {
				t.Error(err)
			}
			if err == nil && telling[key] {
				t.Logf("the key %s need not be an exception", key)
			}
		})
	}
}

func TestUnknownKeysChangeNothingElse(t *testing.T) {
	want := sample()
	more := pytorchtest.Change(pytorchtest.Value(want), func(items []pytorchtest.Item) []pytorchtest.Item {
		extra := &pytorchtest.List{Items: []any{int64(1), "two", pytorchtest.Tuple{}, nil}}
		return append([]pytorchtest.Item{{Key: "from_the_future", Value: extra}}, items...)
	})
	for name, encode := range encodings() {
		t.Run(name, func(t *testing.T) {
			got := decode(t, encode(more))
			if !strings.Contains(strings.Join(got.Notices, "\n"), "from_the_future") {
				t.Errorf("notices %q, want one about the unknown key", got.Notices)
			}
			var settings []trace.Setting
			for _, s := range got.Settings {
				if s.Key != "from_the_future" && s.Key != "roundup_power2_divisions" {
					settings = append(settings, s)
				}
			}
			if len(settings) != len(want.Settings)-1 {
				t.Errorf("%d settings, want %d", len(settings), len(want.Settings)-1)
			}
			got.Settings = want.Settings
			fatal.If(t, pytorchtest.Equal(pytorchtest.Value(want), pytorchtest.Value(got)))
		})
	}
}

func TestUnknownActionsAreKept(t *testing.T) {
	whole := pytorchtest.Value(sample())
	want := pytorchtest.Change(whole, func(items []pytorchtest.Item) []pytorchtest.Item {
		if items[0].Key == "action" && items[0].Value == "snapshot" {
			items[0].Value = "workspace_snapshot"
		}
		return items
	})
	got := decode(t, pytorchtest.PythonPickle(want, 4))
	fatal.If(t, pytorchtest.Equal(want, pytorchtest.Value(got)))
	if err := pytorchtest.Equal(want, pytorchtest.Value(decode(t, write(t, got)))); err != nil {
		t.Error("rewritten: ", err)
	}
}

func TestOverflowIsReadWhereverItStands(t *testing.T) {
	devices := func(values ...any) *pytorchtest.List { return &pytorchtest.List{Items: values} }
	byDevice := &pytorchtest.Dict{Items: []pytorchtest.Item{{Key: "0", Value: false}, {Key: "1", Value: true}}}
	for name, test := range map[string]struct {
		value      any
		atTop      bool
		overflowed [2]bool
	}{
		"a truth":                {true, false, [2]bool{true, true}},
		"a truth at the top":     {true, true, [2]bool{true, true}},
		"a number":               {int64(1), false, [2]bool{true, true}},
		"zero":                   {int64(0), false, [2]bool{}},
		"a list":                 {devices(true, false), false, [2]bool{true, false}},
		"a list at the top":      {devices(int64(0), int64(1)), true, [2]bool{false, true}},
		"a list that is short":   {devices(), false, [2]bool{}},
		"a dict":                 {byDevice, false, [2]bool{false, true}},
		"a dict at the top":      {byDevice, true, [2]bool{false, true}},
		"something else":         {"yes", false, [2]bool{}},
		"nothing":                {nil, false, [2]bool{}},
		"something else, at top": {pytorchtest.Tuple{}, true, [2]bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			snapshot := pytorchtest.Change(pytorchtest.Value(sample()), pytorchtest.Drop("trace_alloc_overflowed")).(*pytorchtest.Dict)
			flag := pytorchtest.Item{Key: "trace_alloc_overflowed", Value: test.value}
			if test.atTop {
				snapshot.Items = append(snapshot.Items, flag)
			} else {
				for _, item := range snapshot.Items {
					if item.Key == "allocator_settings" {
						settings := item.Value.(*pytorchtest.Dict)
						settings.Items = append(settings.Items, flag)
					}
				}
			}
			got := decode(t, pytorchtest.PythonPickle(snapshot, 4))
			if have := [2]bool{got.Devices[0].Overflowed, got.Devices[1].Overflowed}; have != test.overflowed {
				t.Errorf("overflowed %v, want %v", have, test.overflowed)
			}
		})
	}
}

// TestAddressesFrom2To63 reads addresses that Python writes in nine bytes and
// PyTorch's C++ pickler as negative numbers.
func TestAddressesFrom2To63(t *testing.T) {
	tr := tracetest.Parse(t, `memtop-trace 1
info kind="snapshot" lists=1
device 0
alloc 0xffff800000000000 512 @1 stream=0xfffffffffffffff0 stack=-
segment 0xffff800000000000 512 device=0 allocated=512 active=512 requested=512 stream=0xfffffffffffffff0
  block 0xffff800000000000 512 active_allocated requested=512 stack=-
`)
	for name, encode := range encodings() {
		t.Run(name, func(t *testing.T) { sameMeaning(t, tr, decode(t, encode(pytorchtest.Value(tr)))) })
	}
	t.Run("written", func(t *testing.T) { sameMeaning(t, tr, decode(t, write(t, tr))) })
}

// TestBytesAfterTheEndAreLeft reads a pickle with the bytes that trace_plot
// appends before it encodes it in base64.
func TestBytesAfterTheEndAreLeft(t *testing.T) {
	want := sample()
	data := append(pytorchtest.PythonPickle(pytorchtest.Value(want), 4), 0, 0, 0)
	got, err := pytorch.Decode(t.Context(), bytes.NewReader(data), pytorch.Options{Total: int64(len(data))})
	fatal.If(t, err)
	sameMeaning(t, want, got)
}
