package pytorch_test

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

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

func TestANumberThatNoDeviceHasIsNotAnotherDevice(t *testing.T) {
	text := `{"segments": [{"device": 4294967297, "total_size": 1, "blocks": []}, {"device": 1, "total_size": 2, "blocks": []}]}`
	tr, err := pytorch.DecodeJSON(t.Context(), strings.NewReader(text), pytorch.Options{})
	fatal.If(t, err)
	if d := tr.Device(1); len(d.Final.Segments) != 1 || len(tr.Notices) != 1 {
		t.Errorf("device 1 has %d segments, and notices are %q; want one of each", len(d.Final.Segments), tr.Notices)
	}
}
