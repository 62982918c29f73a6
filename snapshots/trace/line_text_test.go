package trace_test

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

func TestALibraryHasNoLine(t *testing.T) {
	for file, want := range map[string]string{"/home/me/train.py": ":12", "/env/libtorch_cpu.so": "", "/lib/libc.so.6": "", "so.cpp": ":12"} {
		if got := trace.LineText(file, 12); got != want {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
	}
}
