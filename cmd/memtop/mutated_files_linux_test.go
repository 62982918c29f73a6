package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/export"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// A container is what a file lies in.
const (
	bare = iota
	zipped
	compressed
	inPage
	containerCount
)

// originals are files of every kind, small.
func originals(t testing.TB) (all [][]byte) {
	t.Helper()
	for i, layout := range pytorchtest.Layouts {
		v := pytorchtest.Value(layout.Strip(pytorchtest.Random(pytorchtest.Options{Seed: uint64(i), Operations: 12})))
		all = append(all, pytorchtest.PythonPickle(v, i%6), pytorchtest.CPPPickle(v, i%2 == 0))
	}
	snapshot, err := json.Marshal(hostileSnapshot(true))
	fatal.If(t, err)
	return append(all, snapshot, recorded(wire.StepFrame, []byte(`{"step":1}`), 2))
}

// fileCodes are the exit codes for a file that can be opened by the system, whatever it is.
var fileCodes = []int{command.ExitOK, command.ExitVersion, command.ExitCorrupt}

const (
	mutatedBound    = 64 << 20
	mutatedPatience = 10 * time.Second
)

// contained returns content in a container.
func contained(t testing.TB, container int, content []byte) []byte {
	t.Helper()
	switch container {
	case zipped, compressed:
		return packed(t, content, container-zipped)
	case inPage:
		return embedded(content)
	default:
		return content
	}
}

// FuzzFile opens any file, of any bytes, in any container. It must give an error of one line and the exit
// code of a damaged file, within the bound on memory, or a trace that can be checked, reported and exported.
func FuzzFile(f *testing.F) {
	for i, original := range originals(f) {
		f.Add(byte(i), original)
	}
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, container byte, content []byte) {
		late := time.AfterFunc(mutatedPatience, func() { panic(fmt.Sprintf("it did not end within %v", mutatedPatience)) })
		defer late.Stop()
		fatal.If(t, os.WriteFile(path, contained(t, int(container)%containerCount, content), 0o600))
		if read := openMutated(t, path); read != nil {
			use(t, path, read, len(content))
		}
	})
}

// openMutated opens a file and returns what it holds, nil for a file that is refused.
func openMutated(t *testing.T, path string) *trace.Trace {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	source, err := snapshots.Open(t.Context(), path, snapshots.Options{MaxMemory: mutatedBound})
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 3*mutatedBound {
		t.Errorf("%d MiB were allocated, with garbage, of a bound of %d", taken>>20, mutatedBound>>20)
	}
	if err != nil {
		code, line := describe(err)
		if code == command.ExitOK || !slices.Contains(fileCodes, code) || strings.Contains(line, "\n") {
			t.Errorf("exit code %d: %s", code, line)
		}
		return nil
	}
	return source.Trace()
}

// use does with a trace what commands do, and exports it in one of the formats.
func use(t *testing.T, path string, read *trace.Trace, which int) {
	t.Helper()
	tracetest.Check(read)
	var out bytes.Buffer
	printed := command.NewOutput(&out)
	if err := report.New(read).Text(printed, 80); err != nil {
		t.Errorf("report: %v", err)
	}
	format := exports()[which%len(exports())]
	if slices.Contains(binaryFormats, format.Name) {
		var file bytes.Buffer
		if err := format.Write(&file, read, export.Options{}); err != nil {
			t.Errorf("export to %s: %v", format.Name, err)
		}
		fatal.If(t, os.WriteFile(path, file.Bytes(), 0o600))
		if format.Name == "pickle" && openMutated(t, path) == nil {
			t.Error("what was exported cannot be opened")
		}
	} else if err := format.Write(printed, read, export.Options{}); err != nil {
		t.Errorf("export to %s: %v", format.Name, err)
	}
	if at := unprintable(out.Bytes()); at >= 0 {
		t.Errorf("it prints %q, in the report or the export to %s", out.Bytes()[at:min(at+40, out.Len())], format.Name)
	}
}
