package sensor

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// marshalled are values as Python 3.11 writes them: marshal.dumps(value, 2).hex().
var marshalled = map[string]struct {
	hex  string
	read func(*reader) any
	want any
}{
	"a small number":        {"6905000000", func(r *reader) any { return r.number() }, int64(5)},
	"a negative number":     {"69fbffffff", func(r *reader) any { return r.number() }, int64(-5)},
	"an address":            {"6c0400000000000000007c0300", func(r *reader) any { return r.number() }, int64(0x7f0000000000)},
	"a negative of 41 bits": {"6cfdffffff000000000004", func(r *reader) any { return r.number() }, -int64(1 << 40)},
	"more than 64 bits":     {"6c0500000005000000000000001000", func(r *reader) any { return r.number() }, int64(math.MaxInt64)},
	"a text":                {"7503000000616263", func(r *reader) any { return r.text() }, "abc"},
	"an interned text":      {"7401000000c3", func(r *reader) any { return r.text() }, "?"},
	"bytes":                 {"73020000006162", func(r *reader) any { return string(r.bytes()) }, "ab"},
	"nothing as a number":   {"4e", func(r *reader) any { return r.number() }, int64(0)},
	"a tuple of numbers":    {"280200000069010000006902000000", func(r *reader) any { return r.numbers() }, []uint64{1, 2}},
	"a list of texts":       {"5b02000000750100000061750100000062", func(r *reader) any { return list(r, (*reader).text) }, []string{"a", "b"}},
}

func TestWhatPythonMarshalsIsRead(t *testing.T) {
	for name, test := range marshalled {
		t.Run(name, func(t *testing.T) {
			b, err := hex.DecodeString(test.hex)
			if err != nil {
				t.Fatal(err)
			}
			r := &reader{b: b}
			if got := test.read(r); r.err != nil || !cmp.Equal(got, test.want) || len(r.b) > 0 {
				t.Errorf("got %v (%v, %d bytes left), want %v", got, r.err, len(r.b), test.want)
			}
			for cut := range b {
				r := &reader{b: b[:cut]}
				if test.read(r); r.err == nil {
					t.Errorf("%d of %d bytes are enough", cut, len(b))
				}
			}
		})
	}
}
