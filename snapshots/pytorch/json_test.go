package pytorch_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestJSONGivesTheRecordsOfThePickle(t *testing.T) {
	fatal.IfShort(t)
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			compareWithJSON(t, pytorchtest.Random(pytorchtest.Options{Seed: seed, Devices: int(seed%3) + 1, Operations: 500, Expandable: seed%2 == 0}))
		})
	}
	for _, path := range pytorchtest.SharedPickles(t) {
		if file, err := os.Stat(path); err == nil && file.Size() < 500_000 { // the large ones take seconds and show no more
			t.Run(path, func(t *testing.T) { compareWithJSON(t, decodeFile(t, path)) })
		}
	}
}

// compareWithJSON decodes the JSON that Python's json.dump makes of a trace.
func compareWithJSON(t *testing.T, want *trace.Trace) {
	t.Helper()
	got, err := pytorch.DecodeJSON(t.Context(), bytes.NewReader(plainJSON(nil, pytorchtest.Value(want))), pytorch.Options{})
	fatal.If(t, err)
	sameMeaning(t, want, got)
}

const smallJSON = ` {"segments": [{"device": 0, "address": 18446744073709551104, "total_size": 512, "stream": 0,
  "segment_type": "small", "segment_pool_id": [0, 1], "is_expandable": false, "frames": [],
  "blocks": [{"address": 1099511627776, "size": 512, "requested_size": 4, "state": "active_allocated",
    "frames": [{"filename": "caf\u00e9 \ud83d\ude00\/\"x\".py", "line": 7, "name": "f"}]}]}],
 "device_traces": [[{"action": "alloc", "addr": 1, "size": 2.0, "stream": 0, "unheard_of": [1, {"a": null}]}]],
 "allocator_settings": {"max_split_size": -1, "garbage_collection_threshold": 0.5, "inf": Infinity, "nan": NaN, "on": true}}`

func TestJSONReadsWhatPythonWrites(t *testing.T) {
	got, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(smallJSON+" \x00trailing"), pytorch.Options{})
	fatal.If(t, err)
	segment := got.Devices[0].Final.Segments[0]
	if want := uint64(1<<64 - 512); segment.Addr != want {
		t.Errorf("address is %#x, want %#x", segment.Addr, want)
	}
	if got, want := got.Tables.Pools[segment.Pool], (trace.Pool{0, 1}); got != want {
		t.Errorf("pool is %v, want %v", got, want)
	}
	frame := got.Tables.Stack(segment.Blocks[0].Stack)[0]
	if got, want := got.Tables.FrameText(frame), "caf\u00e9 \U0001f600/\"x\".py:7 f"; got != want {
		t.Errorf("frame is %q, want %q", got, want)
	}
}

func TestJSONIsRefusedWhereItIsDamaged(t *testing.T) {
	tests := map[string]struct {
		text string
		want string
	}{
		"a missing comma":          {`{"segments": [] "device_traces": []}`, "comma"},
		"a missing colon":          {`{"segments" []}`, "colon"},
		"a key that is no string":  {`{1: 2}`, "key"},
		"a comma at the end":       {`{"segments": [1,]}`, "value"},
		"a bracket of another":     {`{"segments": [}`, "value"},
		"a misspelt word":          {`{"segments": nule}`, "not a number"},
		"two points in a number":   {`{"segments": 1.2.3}`, "not a number"},
		"a minus alone":            {`{"segments": -}`, "not a number"},
		"an endless number":        {`{"segments": ` + strings.Repeat("1", 500), "digits"},
		"an unknown escape":        {`{"a\q": 1}`, "escape"},
		"a bad unicode escape":     {`{"a\u12g4": 1}`, "escape"},
		"lists ten thousand deep":  {strings.Repeat("[", 10_000), "nested"},
		"objects that nest deeper": {strings.Repeat(`{"a":`, 10_000), "nested"},
		"a number for a snapshot":  {`17`, "not a memory snapshot"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(test.text), pytorch.Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error that says %q", err, test.want)
			}
		})
	}
}

func TestJSONCutAnywhereGivesItsBeginning(t *testing.T) {
	for n := range len(smallJSON) {
		got, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(smallJSON[:n]), pytorch.Options{})
		if err == nil && !got.Info.Truncated {
			t.Errorf("the first %d bytes pass for the whole", n)
		}
	}
}

func TestAnEmptyListMayBeFilledWithNothing(t *testing.T) {
	pickled := "\x80\x02}(X\x08\x00\x00\x00segments](eX\x0d\x00\x00\x00device_traces](](eeu."
	if _, err := pytorch.Decode(t.Context(), strings.NewReader(pickled), pytorch.Options{}); err != nil {
		t.Error(err)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(smallJSON))
	f.Add([]byte(`[{"blocks": [{"size": 1, "state": "inactive"}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := pytorch.DecodeJSON(t.Context(), bytes.NewReader(text), pytorch.Options{Bound: trace.FixedBound(64 << 20)})
		if err == nil {
			tracetest.Check(got)
		}
	})
}

// entryOf reads a snapshot whose one entry has the fields given, as JSON.
func entryOf(t *testing.T, fields string) (*trace.Trace, *trace.Event) {
	t.Helper()
	text := `{"segments": [], "device_traces": [[{"action": "alloc", ` + fields + `}]]}`
	tr, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(text), pytorch.Options{})
	fatal.If(t, err)
	return tr, tr.Devices[0].Events.At(0)
}

func TestMetadataThatIsNoTextIsReadAsText(t *testing.T) {
	for name, test := range map[string]struct{ json, want string }{
		"a text":                 {`"layer 3"`, "layer 3"},
		"an empty text":          {`""`, ""},
		"a dict":                 {`{"layer": "mlp", "step": 7}`, "layer: mlp, step: 7"},
		"a dict of containers":   {`{"a": {"b": true}, "c": [1, null]}`, "a: {b: true}, c: [1, None]"},
		"an empty dict":          {`{}`, ""},
		"a list":                 {`["a", 2]`, "a, 2"},
		"a text that is too big": {`{"a": "` + strings.Repeat("é", 9000) + `"}`, "a: " + strings.Repeat("é", 2046) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			tr, e := entryOf(t, `"user_metadata": `+test.json)
			if got := tr.Tables.String(tr.Tables.Notes[e.Note].UserMetadata); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if len(tr.Notices) > 0 {
				t.Errorf("notices %q, want none", tr.Notices)
			}
		})
	}
}

func TestNumbersThatEqualIntegersAreIntegers(t *testing.T) {
	for name, test := range map[string]struct {
		json string
		want int64
		odd  bool
	}{
		"an integer":               {"512", 512, false},
		"a whole float":            {"512.0", 512, false},
		"a power":                  {"1e3", 1000, false},
		"a truth":                  {"true", 1, false},
		"nothing":                  {"null", 0, false},
		"a fraction":               {"1.5", 0, true},
		"more than a float counts": {"1e300", 0, true},
		"not a number":             {"NaN", 0, true},
		"a text":                   {`"512"`, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			tr, e := entryOf(t, `"addr": 1, "size": `+test.json)
			if e.Size != test.want {
				t.Errorf("size %d, want %d", e.Size, test.want)
			}
			if odd := len(tr.Notices) > 0; odd != test.odd {
				t.Errorf("notices %q, want some: %v", tr.Notices, test.odd)
			}
		})
	}
}

func TestAListThatIsNoneIsNoticed(t *testing.T) {
	for blocks, want := range map[string]int{"7": 1, "null": 0, "[7]": 1} {
		text := `{"segments": [{"device": 0, "total_size": 1, "blocks": ` + blocks + `}]}`
		tr, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(text), pytorch.Options{})
		fatal.If(t, err)
		if len(tr.Notices) != want {
			t.Errorf("blocks %s: notices %q, want %d", blocks, tr.Notices, want)
		}
	}
}

// TestSettingsAreKeptToADepth has dictionaries within each other.
func TestSettingsAreKeptToADepth(t *testing.T) {
	text := `{"segments": [], "allocator_settings": ` + strings.Repeat(`{"in": `, 12) + "1" + strings.Repeat("}", 12) + "}"
	tr, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(text), pytorch.Options{})
	fatal.If(t, err)
	depth, settings := 0, tr.Settings
	for ; len(settings) == 1; depth++ {
		settings, _ = settings[0].Value.([]trace.Setting)
	}
	if depth != 8 {
		t.Errorf("%d dictionaries are kept, want 8", depth)
	}
}

func TestANumberThatNoDeviceHasIsNotAnotherDevice(t *testing.T) {
	text := `{"segments": [{"device": 4294967297, "total_size": 1, "blocks": []}, {"device": 1, "total_size": 2, "blocks": []}]}`
	tr, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(text), pytorch.Options{})
	fatal.If(t, err)
	if d := tr.Device(1); len(d.Final.Segments) != 1 || len(tr.Notices) != 1 {
		t.Errorf("device 1 has %d segments, and notices are %q; want one of each", len(d.Final.Segments), tr.Notices)
	}
}
