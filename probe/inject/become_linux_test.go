package inject

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"

	"golang.org/x/sys/unix"
)

// TestRootBringsTheAgentIntoProgramsOfOthers has root attach to a real Python of another
// user, and of root in a container: the agent is there, and its files are that user's.
func TestRootBringsTheAgentIntoProgramsOfOthers(t *testing.T) {
	for name, test := range attackers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := stage(t, int(test.owner))
			words := append(strings.Fields(test.words), shared(t), "-c", job)
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			sockets := filepath.Join(folder, "sockets")
			cmd.Env = []string{"MEMTOP_DIR=" + sockets, "PATH=" + os.Getenv("PATH")}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: test.starts, Gid: test.starts}}
			r := started(t, cmd)
			p := planFor(t, playing(t, cmd.Process.Pid, words[len(words)-3]))
			fatal.If(t, p.Start(t.Context()))
			r.until("agent __main__")
			var stat unix.Stat_t
			if err := unix.Stat(sockets, &stat); err != nil || stat.Uid != test.owner || stat.Mode&0o777 != 0o700 {
				t.Errorf("its folder is of user %d and has mode %o (%v), want user %d and 700", stat.Uid, stat.Mode, err, test.owner)
			}
			r.goesOn()
		})
	}
}

// shared returns a Python that every user can run.
func shared(t *testing.T) string {
	t.Helper()
	for _, path := range append(pythons(t), "/usr/bin/python3") {
		try := exec.CommandContext(t.Context(), path, "-c", "")
		try.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: attacker, Gid: attacker}}
		if try.Run() == nil {
			return path
		}
	}
	t.Skip("there is no Python that every user can run")
	return ""
}
