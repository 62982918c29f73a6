package snapshots

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"

	"github.com/klauspost/compress/gzip"
)

func TestEmbeddedTextIsDecodedHoweverItArrives(t *testing.T) {
	for length := range 50 {
		want := bytes.Repeat([]byte{0xff, 0x00, 'm'}, 20)[:length]
		text := base64.StdEncoding.EncodeToString(want) + `", "name": "x"}`
		for name, in := range map[string]io.Reader{
			"at once":         strings.NewReader(text),
			"byte by byte":    iotest.OneByteReader(strings.NewReader(text)),
			"broken in lines": strings.NewReader(strings.ReplaceAll(text, "/", "\\/\r\n")),
		} {
			got, err := io.ReadAll(&embedded{in: bufio.NewReaderSize(in, 16)})
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes %s: got %x and %v, want %x", length, name, got, err, want)
			}
		}
	}
}

func TestEmbeddedTextThatIsNoneIsAnError(t *testing.T) {
	tests := map[string]struct {
		text string
		want error
	}{
		"cut within a group":     {"AAAABB", io.ErrUnexpectedEOF},
		"a letter of no meaning": {`AA!A"`, base64.CorruptInputError(2)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := io.ReadAll(&embedded{in: bufio.NewReader(strings.NewReader(test.text))})
			if err == nil || err.Error() != test.want.Error() {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestTheDefaultBoundIsOfThisMachine(t *testing.T) {
	if MostMemory() < 1<<20 {
		t.Errorf("the default bound is %d bytes", MostMemory())
	}
}

func FuzzContainers(f *testing.F) {
	const snapshot = `{"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 2}]]}`
	f.Add([]byte(snapshot))
	f.Add([]byte("\x80\x02}(X\x08\x00\x00\x00segments]X\x0d\x00\x00\x00device_traces]u."))
	f.Add([]byte(`<html> [{"name": "a", "base64": "gAJ9Lg=="}, {"name": "b", "base64": "gAJ9Lg=="}]`))
	f.Add([]byte("\x8fmtr\r\n\x01\x00\x0a\x02{}"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x04\x00"))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, snapshot); err != nil {
		f.Fatal(err)
	}
	fatal.If(f, w.Close())
	f.Add(packed.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		o := &opening{path: "fuzz", options: Options{MaxMemory: 32 << 20}}
		o.stored = &stored{total: int64(len(content))}
		got, err := o.decode(t.Context(), "", bytes.NewReader(content))
		if err != nil {
			if o.explain(err).Error() == "" {
				t.Error("an error without a text")
			}
			return
		}
		o.describe(got)
		tracetest.Check(got)
	})
}
