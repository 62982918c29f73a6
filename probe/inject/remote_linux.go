package inject

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// remoteWithin is how long the interpreter may take to ask the program.
const remoteWithin = 20 * time.Second

// remoteCode is what the interpreter runs: it makes the program run a file.
const remoteCode = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])"

// remote starts the program's own interpreter once more, to ask the program to run the
// script.
func (t *task) remote(ctx context.Context, script string) error {
	ctx, cancel := context.WithTimeout(ctx, remoteWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, "-I", "-S", "-c", remoteCode, strconv.Itoa(t.PID), script)
	cmd.ExtraFiles = []*os.File{t.executable}
	cmd.Env = t.environment()
	printed := &bounded{left: maxPrinted}
	cmd.Stdout, cmd.Stderr = printed, printed
	if err := runTool(cmd, syscall.SIGKILL); err == nil {
		return nil
	}
	return t.remoteError(string(printed.text))
}

// interpreter is the path of the first extra file, in the process that has it.
const interpreter = "/proc/self/fd/3"

// remoteError returns the error for what the failed interpreter printed.
func (t *task) remoteError(printed string) error {
	cause := fmt.Sprintf("%s could not be made to run the agent: %v", t.Name, failure(printed))
	if strings.Contains(printed, "PermissionError") {
		return &RefusedError{Cause: cause, Remedy: launch, Forbidden: true}
	}
	return &FailedError{Cause: cause}
}
