package imitation_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

// installable returns the library for this machine, and skips the test if there
// is none.
func installable(t *testing.T) []byte {
	t.Helper()
	library, err := imitation.Library.For(runtime.GOARCH)
	if runtime.GOOS != "linux" || err != nil {
		t.Skipf("no GPU is imitated on %s, %s", runtime.GOOS, runtime.GOARCH)
	}
	return library
}

func TestProgramsKeepWhatTheyLoad(t *testing.T) {
	got := imitation.Environment([]string{"A=1", "LD_PRELOAD=liba.so", "LD_LIBRARY_PATH=/lib", "B="}, "/f")
	want := []string{"A=1", "B=", "LD_PRELOAD=/f/libmemtop-imitation.so:liba.so", "LD_LIBRARY_PATH=/f:/lib"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got, want := imitation.Environment(nil, "/f"), []string{"LD_PRELOAD=/f/libmemtop-imitation.so", "LD_LIBRARY_PATH=/f"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
