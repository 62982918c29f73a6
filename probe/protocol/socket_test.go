package protocol

import (
	"path/filepath"
	"testing"
)

func TestWhereTheSocketIs(t *testing.T) {
	tests := map[string]struct{ own, runtime, want string }{
		"MEMTOP_DIR comes first":       {"/own", "/run/user/7", "/own"},
		"then the session's folder":    {"", "/run/user/7", "/run/user/7/memtop"},
		"then one in the temporary's":  {"", "", "/tmp/memtop-7"},
		"an empty MEMTOP_DIR is unset": {"", "/run/user/7", "/run/user/7/memtop"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := filepath.ToSlash(FolderOf(test.own, test.runtime, "/tmp", 7)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestSocketNames(t *testing.T) {
	if pid, start, ok := ParseSocketName(SocketName(12, 345)); pid != 12 || start != 345 || !ok {
		t.Errorf("got %d, %d, %v", pid, start, ok)
	}
	for _, name := range []string{"", ".sock", "12.sock", "12-345", "-12-345.sock", "0-1.sock", "12-.sock", "12-34x.sock", "012-345.sock", "+12-345.sock", ".12-345.sock"} {
		if _, _, ok := ParseSocketName(name); ok {
			t.Errorf("%q passes for a socket's name", name)
		}
	}
}
