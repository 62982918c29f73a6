package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
)

// Files that share one thing among many, or have many of one thing, by how many.
var slowFiles = map[string]func(n int) any{
	"a pool for each segment": func(n int) any {
		return slowFile(n, nil, func(i int, segment, _ *pytorchtest.Dict) {
			setKey(segment, "segment_pool_id", pytorchtest.Tuple{int64(i), int64(i + 1)})
		})
	},
	"a deep stack of Python": func(n int) any { return slowFile(n, deepStack(n/10, "/home/u/a.py", "f"), nil) },
	"a deep stack of C++":    func(n int) any { return slowFile(n, deepStack(n/10, "??", "at::native::f"), nil) },
	"a deep stack with many roles": func(n int) any {
		return slowFile(n, deepStack(n/10, "/home/u/a.py", "f"), func(i int, _, event *pytorchtest.Dict) {
			setKey(event, "role", fmt.Sprint("role", i))
		})
	},
	"a standard library for each file": func(n int) any {
		return slowFile(n, nil, func(i int, _, event *pytorchtest.Dict) {
			root := fmt.Sprintf("/opt/v%d/", i)
			setKey(event, "frames", &pytorchtest.List{Items: []any{
				pythonDict("filename", root+"x.py", "line", int64(1), "name", "f"), pythonDict("filename", root+"lib/python3.12/site-packages/a.py", "line", int64(1), "name", "g"),
			}})
		})
	},
	"optimizer steps within each other": func(n int) any { return slowSteps(n, n/2, 0) },
	"failures and optimizer steps":      func(n int) any { return slowSteps(n, 1, n/2) },
}

// slowUses are the commands that look at most of a file.
var slowUses = [][]string{
	{"report", aFile},
	{"diff", aFile, aFile},
	{"advise", aFile},
	{"check", aFile, "--max-peak", "1GiB"},
	{"replay", aFile},
	{"export", aFile, "--to", "html", "-o", "-"},
	{"export", aFile, "--to", "folded", "-o", "-"},
	{"export", aFile, "--to", "pprof", "-o", "-"},
	{"export", aFile, "--to", "perfetto", "-o", "-"},
}

// Bounds of processor time, which other programs hardly change.
const (
	slowest = 20 * time.Second       // for a file of some megabytes
	quick   = 600 * time.Millisecond // is not looked at further
	larger  = 3                      // times, for the second file
	slower  = 3 * larger / 2         // times, that a command may be
)

// TestTimeFollowsTheSizeOfAFile has the real program look at files that cost more than
// their size if something is searched or walked for each of many.
func TestTimeFollowsTheSizeOfAFile(t *testing.T) {
	if os.Getenv("MEMTOP_LONG") == "" {
		t.Skip("it takes minutes: make long-files")
	}
	const n = 24_000
	for name, make := range slowFiles {
		t.Run(name, func(t *testing.T) {
			large, small := slowPath(t, make(n)), slowPath(t, make(n/larger))
			for _, use := range slowUses {
				used := processorTime(t, use, large)
				if used < quick {
					continue
				}
				if before := processorTime(t, use, small); used > slowest || used > slower*max(before, quick/larger) {
					t.Errorf("%v takes %v, and %v for a file of a third", use, used, before)
				}
			}
		})
	}
}

func slowPath(t *testing.T, file any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pickle")
	fatal.If(t, os.WriteFile(path, pytorchtest.PythonPickle(file, 4), 0o600))
	return path
}

// processorTime returns what a command on a file takes of the processors, its output
// thrown away.
func processorTime(t *testing.T, use []string, path string) time.Duration {
	t.Helper()
	program, err := os.Executable()
	fatal.If(t, err)
	memtop := exec.CommandContext(t.Context(), program)
	memtop.Args = []string{"memtop"}
	for _, word := range use {
		if word == aFile {
			word = path
		}
		memtop.Args = append(memtop.Args, word)
	}
	if err := memtop.Run(); err != nil && memtop.ProcessState.ExitCode() != 10 { // check found more than allowed
		t.Fatalf("%v: %v", use, err)
	}
	return memtop.ProcessState.UserTime() + memtop.ProcessState.SystemTime()
}

func setKey(d *pytorchtest.Dict, key string, value any) {
	for i := range d.Items {
		if d.Items[i].Key == key {
			d.Items[i].Value = value
			return
		}
	}
	d.Items = append(d.Items, pytorchtest.Item{Key: key, Value: value})
}

func pythonDict(keysAndValues ...any) *pytorchtest.Dict {
	d := &pytorchtest.Dict{}
	for i := 0; i < len(keysAndValues); i += 2 {
		setKey(d, keysAndValues[i].(string), keysAndValues[i+1])
	}
	return d
}

func deepStack(depth int, file, name string) *pytorchtest.List {
	l := &pytorchtest.List{}
	for i := range depth {
		l.Items = append(l.Items, pythonDict("filename", file, "line", int64(i+1), "name", fmt.Sprint(name, i)))
	}
	return l
}

// slowEvent is an event, a microsecond after the one before.
func slowEvent(action string, i, size int, frames *pytorchtest.List) *pytorchtest.Dict {
	return pythonDict("action", action, "addr", int64(1<<30+i<<20), "size", int64(size), "stream", int64(0), "time_us", int64(1_700_000_000_000_000+i), "frames", frames)
}

func slowSnapshot(segments, events, annotations *pytorchtest.List) any {
	return pythonDict("segments", segments, "device_traces", &pytorchtest.List{Items: []any{events}}, "external_annotations", annotations)
}

// slowFile has segments of one live block each, which share a stack; change may edit a
// segment and the event of its block.
func slowFile(n int, frames *pytorchtest.List, change func(i int, segment, event *pytorchtest.Dict)) any {
	if frames == nil {
		frames = &pytorchtest.List{}
	}
	segments, events := &pytorchtest.List{}, &pytorchtest.List{}
	none := &pytorchtest.List{}
	for i := range n {
		at := int64(1<<30 + i<<20)
		block := pythonDict("address", at, "size", int64(1<<20), "requested_size", int64(1<<20), "state", "active_allocated", "frames", frames)
		segment := pythonDict("device", int64(0), "address", at, "total_size", int64(1<<20), "stream", int64(0), "segment_type", "large",
			"segment_pool_id", pytorchtest.Tuple{int64(0), int64(0)}, "frames", none, "blocks", &pytorchtest.List{Items: []any{block}})
		event := slowEvent("alloc", i, 1<<20, frames)
		if change != nil {
			change(i, segment, event)
		}
		segments.Items, events.Items = append(segments.Items, segment), append(events.Items, event)
	}
	return slowSnapshot(segments, events, none)
}

// slowSteps has n events of two deep stacks in turn, and optimizer steps, so many
// within each other; the last events are failures.
func slowSteps(n, within, failures int) any {
	stacks := [2]*pytorchtest.List{deepStack(n/10, "??", "f"), deepStack(n/10, "??", "g")}
	events, annotations := &pytorchtest.List{}, &pytorchtest.List{}
	for i := range n {
		action := "alloc"
		if i >= n-failures {
			action = "oom"
		}
		events.Items = append(events.Items, slowEvent(action, i, 1<<20, stacks[i%2]))
	}
	for i := range n / within / 2 {
		for _, stage := range [...]string{"START", "END"} {
			for k := range within {
				annotations.Items = append(annotations.Items, pythonDict("name", "Optimizer.step#A", "stage", stage, "device", int64(0),
					"time_us", int64(1_700_000_000_000_000+2*within*i+k)))
			}
		}
	}
	return slowSnapshot(&pytorchtest.List{}, events, annotations)
}
