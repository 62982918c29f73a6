package pytorch_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// sameMeaning compares the contents of snapshots, not their containers.
func sameMeaning(t *testing.T, want, got *trace.Trace) {
	t.Helper()
	wanted, have := *want, *got
	wanted.Info, have.Info = trace.Info{}, trace.Info{}
	wanted.Notices, have.Notices = nil, nil
	equal.Values(t, "the trace differs", tracetest.Text(t, &wanted), tracetest.Text(t, &have))
	if want.Info.List != got.Info.List || want.Info.TraceLists != got.Info.TraceLists {
		t.Errorf("list %v with %d traces, want list %v with %d",
			got.Info.List, got.Info.TraceLists, want.Info.List, want.Info.TraceLists)
	}
}

func decode(t *testing.T, data []byte) *trace.Trace {
	t.Helper()
	tr, err := pytorch.Decode(t.Context(), bytes.NewReader(data), pytorch.Options{Total: int64(len(data))})
	fatal.If(t, err)
	return tr
}

// encodings are all encodings that writers of snapshots use.
func encodings() map[string]func(v any) []byte {
	all := map[string]func(v any) []byte{
		"C++":           func(v any) []byte { return pytorchtest.CPPPickle(v, false) },
		"C++ with tags": func(v any) []byte { return pytorchtest.CPPPickle(v, true) },
	}
	for protocol := range 6 {
		all[fmt.Sprintf("protocol %d", protocol)] = func(v any) []byte {
			return pytorchtest.PythonPickle(v, protocol)
		}
	}
	return all
}

func TestEveryVersionInEveryEncoding(t *testing.T) {
	fatal.IfShort(t)
	for _, layout := range pytorchtest.Layouts {
		for seed := range uint64(2) {
			options := pytorchtest.Options{
				Seed: seed, Devices: 1 + int(seed%2), Operations: 120, Expandable: seed == 1 && layout.Version > 200,
			}
			want := layout.Strip(pytorchtest.Random(options))
			value := pytorchtest.Value(want)
			for name, encode := range encodings() {
				t.Run(fmt.Sprintf("%s/seed %d/%s", layout.Name, seed, name), func(t *testing.T) {
					sameMeaning(t, want, decode(t, encode(value)))
				})
			}
		}
	}
}

func TestWhatIsWrittenReadsTheSame(t *testing.T) {
	for _, layout := range pytorchtest.Layouts {
		t.Run(layout.Name, func(t *testing.T) {
			want := layout.Strip(pytorchtest.Random(pytorchtest.Options{Seed: 3, Devices: 2, Operations: 2000}))
			sameMeaning(t, want, decode(t, write(t, want)))
		})
	}
}

func TestAnEmptyDeviceBetweenOthersStays(t *testing.T) {
	in := trace.NewInterner()
	var log trace.EventLog
	log.Append(trace.Event{Kind: trace.Snapshot, Stack: trace.EmptyStack})
	tables := in.View()
	want := &trace.Trace{
		Info: trace.Info{TraceLists: 5}, Tables: &tables,
		Devices: []trace.Device{{ID: 2, Events: log.Events()}},
	}
	sameMeaning(t, want, decode(t, write(t, want)))
}

// TestTheEncoderWritesAsPythonDoes proves the test encoder: Python loads its
// pickle and writes the same bytes again.
func TestTheEncoderWritesAsPythonDoes(t *testing.T) {
	needPython(t)
	const script = `
import pickle, sys
for protocol, path in enumerate(sys.argv[1:]):
    if protocol > pickle.HIGHEST_PROTOCOL:
        continue
    with open(path, 'rb') as f:
        data = f.read()
    again = pickle.dumps(pickle.loads(data), protocol)
    if again != data:
        at = next((i for i, (a, b) in enumerate(zip(data, again)) if a != b), min(len(data), len(again)))
        print('protocol %d differs at byte %d: have %r, Python writes %r' %
              (protocol, at, data[at-30:at+30], again[at-30:at+30]))
`
	value := pytorchtest.Value(pytorchtest.Random(pytorchtest.Options{Seed: 11, Operations: 1500}))
	arguments := []string{"-c", script}
	for protocol := range 6 {
		arguments = append(arguments, save(t, fmt.Sprint("protocol", protocol), pytorchtest.PythonPickle(value, protocol)))
	}
	if out, err := exec.CommandContext(t.Context(), "python3", arguments...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestPythonLoadsGeneratedTraces compares the output of the writer and of the
// test encoder, which share no code, as Python values.
func TestPythonLoadsGeneratedTraces(t *testing.T) {
	needPython(t)
	var pairs []string
	for _, layout := range pytorchtest.Layouts {
		tr := layout.Strip(pytorchtest.Random(pytorchtest.Options{Seed: 5, Devices: 2, Operations: 1500}))
		pairs = append(pairs,
			save(t, layout.Name+".original", pytorchtest.PythonPickle(pytorchtest.Value(tr), 4)),
			save(t, layout.Name+".written", write(t, tr)))
	}
	python(t, pairs...)
}

// TestFramesOfTheAgentsStandInsAreLeftOut has stacks of a rehearsal: with such a frame, with nothing else, and without.
func TestFramesOfTheAgentsStandInsAreLeftOut(t *testing.T) {
	frame := func(file string, line int64) any { return record("filename", file, "line", line, "name", "f") }
	own, other := frame("<frozen memtop.known>", 7), frame("train.py", 3)
	var events []any
	for i, frames := range []any{list(own, own, other), list(other), list(own), list(own, other)} {
		events = append(events, record("action", "alloc", "addr", int64(512*(i+1)), "size", int64(512), "stream", int64(0), "frames", frames))
	}
	value := record("segments", list(), "device_traces", list(list(events...)))
	for name, encode := range encodings() {
		got := decode(t, encode(value))
		events := got.Devices[0].Events
		for i, frames := range []int{1, 1, 0, 1} {
			if n := len(got.Tables.Stack(events.At(i).Stack)); n != frames {
				t.Errorf("%s: stack %d has %d frames, want %d", name, i, n, frames)
			}
		}
		if events.At(0).Stack != events.At(3).Stack {
			t.Errorf("%s: stacks that differ by such a frame are two", name)
		}
	}
}
