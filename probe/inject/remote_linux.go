package inject

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/attach"
)

// remoteWithin is how long an interpreter may take to ask another one.
const remoteWithin = 20 * time.Second

// remoteCode is what the interpreter runs: it has the other one run a file.
const remoteCode = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])"

// remote has the program's own interpreter, run once more, ask the program to run
// the script. A program with another root is asked from within that.
func (p *Plan) remote(ctx context.Context, script string) error {
	ctx, cancel := context.WithTimeout(ctx, remoteWithin)
	defer cancel()
	pid := strconv.Itoa(p.program.PID)
	command := []string{"/proc/" + pid + "/exe"}
	if p.program.Root != "/" {
		if _, err := exec.LookPath("nsenter"); err != nil || os.Geteuid() != 0 {
			return &RefusedError{
				Cause:  "process " + pid + " is in a container, which memtop cannot enter from here",
				Remedy: "run memtop in it, or as root where nsenter is, or " + launch,
			}
		}
		inside := strconv.Itoa(p.program.Inside)
		command = []string{"nsenter", "--target", pid, "--mount", "--pid", "--root", "--", "/proc/" + inside + "/exe"}
		pid = inside
	}
	command = append(command, "-I", "-S", "-c", remoteCode, pid, script)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the program runs it already
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	printed, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	return remoteError(p.program, string(printed))
}

// remoteError says what it means that the interpreter could not ask.
func remoteError(r *attach.Running, printed string) error {
	cause := fmt.Sprintf("process %d cannot be had to run the agent: %v", r.PID, failure(printed))
	if strings.Contains(printed, "PermissionError") {
		return &RefusedError{Cause: cause, Remedy: launch, Forbidden: true}
	}
	return &FailedError{Cause: cause}
}
