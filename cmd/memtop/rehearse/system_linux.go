package rehearse

import (
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/memtop/memtop/probe/python"
	"github.com/memtop/memtop/snapshots/procfs"
)

// apart makes a command run in a session of its own.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

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
	for quiet := 0; quiet < 2; quiet++ {
		if endProcesses(folder) {
			quiet = -1
		} else if quiet == 0 {
			<-time.After(again)
		}
	}
	_ = os.RemoveAll(folder) // there is nothing more to be done
}

func endProcesses(folder string) (found bool) {
	processes, _ := procfs.Processes()
	for _, pid := range processes {
		var told python.Told
		_ = json.Unmarshal([]byte(procfs.Environment(pid)(python.RehearsalVariable)), &told) // nothing of another program
		if told.Folder == folder {
			found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
	}
	return found
}
