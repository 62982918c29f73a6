package collector

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/blackbox"
)

// TestProgramsThatEndedHaveATime: of a box only the header is read, and it is not that of a
// program that runs, of one that never finished it, or of what is no box.
func TestProgramsThatEndedHaveATime(t *testing.T) {
	folder := t.TempDir()
	fatal.If(t, os.Chmod(folder, 0o700))
	t.Setenv(protocol.BlackBoxVariable, folder)
	t.Setenv("MEMTOP_DIR", t.TempDir())
	now := time.Now().Truncate(time.Second)
	for name, alive := range map[string]time.Time{"42-7.box": now, "41-7.box": now.Add(-time.Hour), ".43-7.box": now, "notes.box": now} {
		data := make([]byte, blackbox.LeastSize)
		w, err := blackbox.NewWriter(data, nil)
		fatal.If(t, err)
		w.Alive(alive.UnixMicro())
		path := filepath.Join(folder, name)
		fatal.If(t, os.WriteFile(path, data, 0o600))
		fatal.If(t, os.Chtimes(path, now.Add(-2*time.Hour), now.Add(-2*time.Hour)))
	}
	family := ended()
	for i := 1; i < len(family.Samples); i++ {
		if family.Samples[i].Value > family.Samples[i-1].Value {
			t.Errorf("the newest are not first: %+v", family.Samples)
		}
	}
	got := written(t, []exposition.Family{family})
	want := map[string]float64{
		`memtop_ended_timestamp_seconds{ended="killed",pid="42"}`: float64(now.Unix()),
		`memtop_ended_timestamp_seconds{ended="killed",pid="41"}`: float64(now.Add(-time.Hour).Unix()),
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for sample, at := range want {
		if got[sample] != at {
			t.Errorf("%s is %v, want %v; all: %v", sample, got[sample], at, got)
		}
	}
}
