package pytorch_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"memtop/snapshots/pytorch"
	"memtop/snapshots/pytorch/pytorchtest"
	"memtop/snapshots/trace"
)

// text returns a trace in the text form, in which traces are compared.
func text(t *testing.T, tr *trace.Trace) string {
	t.Helper()
	var b bytes.Buffer
	if err := trace.WriteText(&b, tr); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func decodeFile(t *testing.T, path string) *trace.Trace {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := pytorch.Write(&b, tr); err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
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
