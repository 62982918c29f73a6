package snapshots

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"

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
			got, err := io.ReadAll(embedded(bufio.NewReaderSize(in, 16)))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes %s: got %x and %v, want %x", length, name, got, err, want)
			}
		}
	}
}

func TestEmbeddedTextThatIsNoneIsAnError(t *testing.T) {
	for text, want := range map[string]error{
		"AAAABB": io.ErrUnexpectedEOF,         // cut within a group
		`AA!A"`:  base64.CorruptInputError(2), // a letter of no meaning
	} {
		_, err := io.ReadAll(embedded(bufio.NewReader(strings.NewReader(text))))
		if err == nil || err.Error() != want.Error() {
			t.Errorf("%q: got %v, want %v", text, err, want)
		}
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

// TestABoxOfHolesTakesLittleMemory has a large box, of which a few pages are
// there: reading all of it took more than twice as much memory.
func TestABoxOfHolesTakesLittleMemory(t *testing.T) {
	path := boxOfHoles(t, 100)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s, err := Open(t.Context(), path, Options{})
	runtime.ReadMemStats(&after)
	fatal.If(t, err)
	if last := s.Trace().Live.Ended.Devices[0]; last.Events != 100 || last.Requested != 100*4096 {
		t.Errorf("the box ends with %+v, want 100 events of 4096 bytes", last)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("reading it took %d MiB, want at most 16", took>>20)
	}
}

// boxOfHoles writes a large box with the state of a program that did
// nothing and some allocations after it.
func boxOfHoles(t *testing.T, events int) string {
	t.Helper()
	data := make([]byte, 256<<20) // of which the system gives what is touched
	w, err := blackbox.NewWriter(data, []int{0})
	fatal.If(t, err)
	w.Begin([]blackbox.Sums{{}})
	e := wire.NewEncoder(w)
	e.Hello(&wire.Hello{PID: 4711, Command: "train", Devices: []int{0}})
	tables := trace.NewInterner().View()
	e.Tables(&tables)
	e.Base(0, 0, &trace.State{Segments: []trace.Segment{{Addr: 1 << 30, Size: 1 << 20, Given: trace.GaveAddr | trace.GaveSize}}}, 0, "")
	fatal.If(t, e.Flush())
	w.Publish()
	for i := range events {
		w.Ring(0).Record(&trace.Event{Kind: trace.Alloc, Addr: 1<<30 + uint64(i)*4096, Size: 4096, Time: int64(i), Slack: 1})
	}
	path := filepath.Join(t.TempDir(), "1-1.box")
	fatal.If(t, writeSparse(path, data))
	return path
}

// writeSparse writes a file with holes where the data is zero.
func writeSparse(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	const piece = 1 << 20
	zeros := make([]byte, piece)
	for at := 0; at < len(data); at += piece {
		if part := data[at : at+piece]; string(part) != string(zeros) {
			if _, err := f.WriteAt(part, int64(at)); err != nil {
				return err
			}
		}
	}
	return f.Truncate(int64(len(data)))
}
