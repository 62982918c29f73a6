package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// ownFolders runs the tests with the folders of a user who has none yet, so that they
// neither find anything of whoever runs them nor leave something there.
type ownFolders struct{ *testing.M }

// Run implements testscript.TestingM.
func (m ownFolders) Run() int {
	folder, err := os.MkdirTemp("", "mt") // a socket's path is short
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	cache, err := os.UserCacheDir()
	if err == nil && os.Getenv("GOCACHE") == "" {
		_ = os.Setenv("GOCACHE", filepath.Join(cache, "go-build")) // tests build programs
	}
	for variable, name := range map[string]string{
		"XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run",
		"TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor",
	} {
		own := filepath.Join(folder, name)
		if err := os.Mkdir(own, 0o700); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_ = os.Setenv(variable, own) // it is a name that there may be
	}
	return m.M.Run()
}

// TestTestsHaveFoldersOfTheirOwn looks where memtop would put what it keeps.
func TestTestsHaveFoldersOfTheirOwn(t *testing.T) {
	for _, variable := range []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
		if own := os.Getenv(variable); filepath.Dir(filepath.Dir(own)) != filepath.Clean(os.TempDir()) {
			t.Errorf("%s is %q, want a folder of the tests' in %s", variable, own, os.TempDir())
		}
	}
}
