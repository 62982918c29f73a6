package probetest

import (
	"os"
	"path/filepath"
	"testing"
)

// AsOtherUsers skips a test that must run programs as other users, if it cannot:
// only root may, and only if every user can enter the folder for temporary files.
// Root's own may be closed to others.
func AsOtherUsers(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can run programs as other users")
	}
	if closed := closedTo(os.TempDir()); closed != "" {
		t.Skipf("other users cannot enter %s, where temporary files are: TMPDIR may name another folder", closed)
	}
}

// closedTo returns the first folder of a path that not every user can enter, ""
// if there is none.
func closedTo(folder string) string {
	const enter = 0o001
	folder, err := filepath.Abs(folder)
	if err != nil {
		return folder
	}
	if parent := filepath.Dir(folder); parent != folder {
		if closed := closedTo(parent); closed != "" {
			return closed
		}
	}
	if info, err := os.Stat(folder); err != nil || info.Mode()&enter == 0 {
		return folder
	}
	return ""
}
