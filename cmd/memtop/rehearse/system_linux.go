package rehearse

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/memtop/memtop/probe/python"
)

// apart makes a command run in a session of its own.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// endsWithThread makes the system end a command when the thread that starts it
// ends.
func endsWithThread(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// signalOf returns the number of the signal that ended a process.
func signalOf(state *os.ProcessState) int {
	status, _ := state.Sys().(syscall.WaitStatus)
	return int(status.Signal())
}

// again is how long after a search without a find tidy searches once more. A process that
// becomes another program has no environment for a moment.
const again = 50 * time.Millisecond

// tidy ends every process of a rehearsal, found by its environment, and removes
// the folder. It searches again for processes that were started meanwhile.
func tidy(folder string) {
	variable := python.RehearsalVariable + "=" + folder
	for quiet := 0; quiet < 2; quiet++ {
		if endProcesses(variable) {
			quiet = -1
		} else if quiet == 0 {
			<-time.After(again)
		}
	}
	_ = os.RemoveAll(folder) // there is nothing more to be done
}

func endProcesses(variable string) (found bool) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || !bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+variable+"\x00")) {
			continue
		}
		found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
	}
	return found
}
