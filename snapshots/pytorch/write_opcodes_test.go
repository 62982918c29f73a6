package pytorch_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

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
