package pytorch_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// decodeFile reads a snapshot pickle.
func decodeFile(t *testing.T, path string) *trace.Trace {
	t.Helper()
	f, err := os.Open(path)
	fatal.If(t, err)
	defer f.Close()
	tr, err := pytorch.Decode(t.Context(), f, pytorch.Options{})
	if err != nil {
		t.Fatalf("decoding %s: %v", filepath.Base(path), err)
	}
	return tr
}

func write(t *testing.T, tr *trace.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, pytorch.Write(&b, tr))
	return b.Bytes()
}

const compareInPython = `
import pickle, sys
def load(path):
    with open(path, 'rb') as f:
        return pickle.load(f)
for a, b in zip(sys.argv[1::2], sys.argv[2::2]):
    if load(a) != load(b):
        print(a, 'is not equal to', b)
`

// python compares pairs of pickles as Python sees them.
func python(t *testing.T, pairs ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "python3", append([]string{"-c", compareInPython}, pairs...)...)
	if out, err := command.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 to load the pickles with")
	}
}

func save(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	fatal.If(t, os.WriteFile(path, data, 0o600))
	return path
}

func TestPythonLoadsWhatItLoadedBefore(t *testing.T) {
	needPython(t)
	var pairs []string
	for _, path := range pytorchtest.SharedPickles(t) {
		pairs = append(pairs, path, save(t, filepath.Base(path), write(t, decodeFile(t, path))))
	}
	python(t, pairs...)
}

const bytesInPython = `
import pickle, sys
for s in pickle.load(open(sys.argv[1], 'rb'))['segments'][0]['blocks']:
    print(s['state'].encode('utf-8', 'surrogatepass' if s['state'] == '\ud800' else 'surrogateescape').hex())
`

// TestPythonLoadsTextThatIsNotUTF8 checks that Python loads text that is not
// UTF-8 and gives back its bytes. A surrogate in the three bytes of a pickle is
// one character, and a surrogate that stands for a byte gives that byte.
func TestPythonLoadsTextThatIsNotUTF8(t *testing.T) {
	needPython(t)
	tests := []struct{ name, text, want string }{
		{"text", "größe 長 😀", "größe 長 😀"},
		{"a byte that begins nothing", "a\xffb", "a\xffb"},
		{"bytes that never stand in UTF-8", "\x80\xbf\xc0\xc1\xf5\xfe\xff", "\x80\xbf\xc0\xc1\xf5\xfe\xff"},
		{"characters cut short", "\xe9\x95 \xf0\x9f\x98", "\xe9\x95 \xf0\x9f\x98"},
		{"a slash in more bytes than needed", "\xc0\xaf\xe0\x80\xaf", "\xc0\xaf\xe0\x80\xaf"},
		{"a character beyond the last", "\xf4\x90\x80\x80", "\xf4\x90\x80\x80"},
		{"a surrogate that stands for 0xff", "a\xed\xb3\xbfb", "a\xffb"},
		{"a surrogate that stands for no byte", "\xed\xa0\x80", "\xed\xa0\x80"},
		{"a surrogate cut short", "\xed\xb3", "\xed\xb3"},
		{"a replacement character", "\ufffd\xff", "\ufffd\xff"},
	}
	in := trace.NewInterner()
	var blocks []trace.Block
	for _, test := range tests {
		blocks = append(blocks, trace.Block{StateText: in.String(test.text), Given: trace.GaveSize | trace.GaveState})
	}
	tables := in.View()
	tr := &trace.Trace{Tables: &tables, Devices: []trace.Device{{Final: trace.State{Segments: []trace.Segment{{Blocks: blocks}}}}}}
	out, err := exec.CommandContext(t.Context(), "python3", "-c", bytesInPython, save(t, "s.pickle", write(t, tr))).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := strings.Split(string(out), "\n")
	for i, test := range tests {
		if want := fmt.Sprintf("%x", test.want); got[i] != want {
			t.Errorf("%s: %q became %s, want %s", test.name, test.text, got[i], want)
		}
	}
}
