package pytorch_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
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
	path := fatal.Write(t, name, data)
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

// TestTheWebViewerFindsACategoryAtEveryEvent checks what the viewer needs: the
// last category of an allocation at its alloc event, and the word unknown. The
// events' own categories are read back.
func TestTheWebViewerFindsACategoryAtEveryEvent(t *testing.T) {
	const scratch, saved, nameless = `note scratch category="workspace" layer="h.0"
`, `note saved category="activation" layer="h.1" role="exp_avg" shape="[768, 3072]" dtype="f32"
`, `note nameless layer="h.2"
`
	needPython(t)
	tests := map[string]struct {
		notes, events string
		want          []string // action, category and noted_category of each event
	}{
		"memory that turns out to be for something else": {
			scratch + saved,
			`segment_alloc 0x0 4096
alloc 0x0 512 note=scratch
retag 0x0 512 note=saved
free_completed 0x0 512 note=saved
alloc 0x0 512 note=scratch`,
			[]string{
				`segment_alloc unknown ""`, `alloc activation "workspace"`, "retag activation", "free_completed activation", "alloc workspace",
			},
		},
		"memory whose use is known only later": {
			saved + nameless,
			`alloc 0x0 512 note=nameless
retag 0x0 512 note=saved
step_begin 0x0 1`,
			[]string{`alloc activation ""`, "retag activation", `step_begin unknown ""`},
		},
		"memory whose use stays unknown": {
			saved + nameless,
			`alloc 0x0 512 note=nameless
alloc 0x1000 512
alloc 0x2000 512 note=saved`,
			[]string{`alloc unknown ""`, `alloc unknown ""`, "alloc activation", `snapshot unknown ""`},
		},
		"events all of which have a category": {
			saved, "alloc 0x0 512 note=saved\n", []string{"alloc activation", `snapshot unknown ""`},
		},
		"a writer that says unknown itself": {
			saved + "note whole category=\"unknown\"\n",
			"alloc 0x0 512 note=whole\nalloc 0x1000 512 note=saved\nstep_begin 0x0 1",
			[]string{"alloc unknown", "alloc activation", "step_begin"},
		},
		"no category at all, as in PyTorch's own files": {
			nameless, "alloc 0x0 512 note=nameless\n", []string{"alloc"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr := tracetest.Parse(t, test.notes+"device 0\n"+test.events)
			tr.Info.TraceLists = 1
			data := write(t, tr)
			equal.Values(t, "what the viewer finds differs", test.want, viewerCategories(t, data))
			again := decode(t, data)
			d := &again.Devices[0]
			d.Events = d.Events.Slice(0, tr.Devices[0].Events.Len()) // without the event added
			sameMeaning(t, tr, again)
			if !bytes.Equal(data, write(t, decode(t, data))) {
				t.Error("written again, the file differs")
			}
		})
	}
}

const categoriesInPython = `
import json, pickle, sys
for e in pickle.load(open(sys.argv[1], 'rb'))['device_traces'][0]:
    print(e['action'], *([e['category']] if 'category' in e else []), *([json.dumps(e['noted_category'])] if 'noted_category' in e else []))
`

// viewerCategories returns the action and the categories of each event of a
// pickle's first device, as Python loads them.
func viewerCategories(t *testing.T, data []byte) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", "-c", categoriesInPython, save(t, "noted.pickle", data)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// viewerOpcodes are the opcodes that the writer uses and the official web viewer
// can read, with the length of their operand; −1 is a length of one byte before
// it, −4 a length of four. The viewer stops at any other.
var viewerOpcodes = map[byte]int{
	0x80: 1, '.': 0, '(': 0, '}': 0, ']': 0, 'u': 0, 'a': 0, 'e': 0, 0x94: 0,
	'h': 1, 'j': 4, 'K': 1, 'M': 2, 'J': 4, 0x8a: -1, 'G': 8, 0x8c: -1, 'X': -4,
	0x86: 0, 0x88: 0, 0x89: 0, 'N': 0,
}

// checkOpcodes walks a pickle and checks that each opcode is one the viewer
// knows and that no reference runs ahead of the memo.
func checkOpcodes(t *testing.T, data []byte) {
	t.Helper()
	memos := 0
	for at := 0; at < len(data); {
		op := data[at]
		length, known := viewerOpcodes[op]
		if !known {
			t.Fatalf("byte %d: the viewer does not know opcode %#x", at, op)
		}
		at++
		switch op {
		case 0x94:
			memos++
		case 'h':
			if int(data[at]) >= memos {
				t.Fatalf("byte %d: entry %d of %d memo entries", at, data[at], memos)
			}
		case 'j':
			if n := binary.LittleEndian.Uint32(data[at:]); int(n) >= memos || n < 256 {
				t.Fatalf("byte %d: entry %d of %d memo entries", at, n, memos)
			}
		}
		switch length {
		case -1:
			length = 1 + int(data[at])
		case -4:
			length = 4 + int(binary.LittleEndian.Uint32(data[at:]))
		}
		at += length
	}
}

func TestTheWebViewerKnowsAllOpcodesWritten(t *testing.T) {
	for _, layout := range pytorchtest.Layouts {
		t.Run(layout.Name, func(t *testing.T) {
			tr := layout.Strip(pytorchtest.Random(pytorchtest.Options{Seed: 4, Devices: 2, Operations: 1000}))
			checkOpcodes(t, write(t, tr))
		})
	}
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	tables := trace.NewInterner().View()
	var log trace.EventLog
	log.Append(trace.Event{Kind: trace.Snapshot})
	for name, tr := range map[string]*trace.Trace{
		"a device number that would need a billion lists": {Devices: []trace.Device{{ID: 1 << 30, Events: log.Events()}}},
		"a negative device number":                        {Devices: []trace.Device{{ID: -1, Events: log.Events()}}},
		"a setting of a type that pickles have not":       {Settings: []trace.Setting{{Key: "a", Value: struct{}{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			tr.Tables = &tables
			if err := pytorch.Write(&bytes.Buffer{}, tr); err == nil {
				t.Error("it was written")
			}
		})
	}
}

// full is a disk with no room left.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrPermission }

func TestAFailingWriterIsReported(t *testing.T) {
	for name, tr := range map[string]*trace.Trace{
		"a small trace": sample(),
		"a large trace": pytorchtest.Random(pytorchtest.Options{Operations: 3000}),
	} {
		t.Run(name, func(t *testing.T) {
			if err := pytorch.Write(full{}, tr); err == nil {
				t.Error("no error")
			}
		})
	}
}
