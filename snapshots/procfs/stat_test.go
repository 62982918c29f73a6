package procfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestTheBeginOfAProcessIsRead(t *testing.T) {
	const after = " 1 1 1 0 -1 4194560 100 0 0 0 1 2 3 4 20 0 9 0 1234567 1000 10"
	tests := map[string]struct {
		stat  string
		ticks uint64
		fails string
	}{
		"a plain name":               {"7 (train) S" + after, 1234567, ""},
		"a name with a space":        {"7 (my train) R" + after, 1234567, ""},
		"a name that looks like one": {"7 (a) S 1 1 (b)) D" + after, 1234567, ""},
		"a name with a line break":   {"7 (a\n) S) S" + after, 1234567, ""},
		"one that has ended":         {"7 (train) Z" + after, 0, fs.ErrNotExist.Error()},
		"a line that is cut":         {"7 (train) S 1 1", 0, "fields"},
		"nothing":                    {"", 0, "fields"},
		"no number":                  {"7 (a) S" + strings.Replace(after, "1234567", "x", 1), 0, "invalid syntax"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "stat")
			fatal.If(t, os.WriteFile(path, []byte(test.stat), 0o600))
			ticks, err := StartOf(path)
			if ticks != test.ticks || !strings.Contains(fmt.Sprint(err), test.fails) || (err == nil) != (test.fails == "") {
				t.Errorf("got %d and %v, want %d and %q", ticks, err, test.ticks, test.fails)
			}
		})
	}
}
