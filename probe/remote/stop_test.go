//go:build unix

package remote

import (
	"os"
	"syscall"
	"testing"
)

// stop stops a process, until it is killed.
func stop(t *testing.T, p *os.Process) {
	t.Helper()
	must(t, p.Signal(syscall.SIGSTOP))
}
