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
a, b = load(sys.argv[1]), load(sys.argv[2])
if a != b:
    sys.exit('the two pickles are not equal')
`

// python compares two pickles as Python sees them.
func python(t *testing.T, original, rewritten string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", "-c", compareInPython, original, rewritten).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", filepath.Base(original), err, out)
	}
}

func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 to load the pickles with")
	}
}

func TestPythonLoadsWhatItLoadedBefore(t *testing.T) {
	needPython(t)
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			rewritten := filepath.Join(t.TempDir(), "rewritten.pickle")
			if err := os.WriteFile(rewritten, write(t, decodeFile(t, path)), 0o600); err != nil {
				t.Fatal(err)
			}
			python(t, path, rewritten)
		})
	}
}
