package inject

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// remoteWithin is how long an interpreter may take to ask another one.
const remoteWithin = 20 * time.Second

// remoteCode is what the interpreter runs: it has the other one run a file.
const remoteCode = "import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])"

// remote has the program's own interpreter, run once more, ask the program to run
// the script.
func (t *task) remote(ctx context.Context, script string) error {
	ctx, cancel := context.WithTimeout(ctx, remoteWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, "-I", "-S", "-c", remoteCode, strconv.Itoa(t.PID), script)
	cmd.ExtraFiles = []*os.File{t.executable}
	cmd.Env = t.environment()
	printed := &bounded{left: maxPrinted}
	cmd.Stdout, cmd.Stderr = printed, printed
	if err := cmd.Run(); err == nil {
		return nil
	}
	return t.remoteError(string(printed.text))
}

// interpreter is the path of the first of a program's extra files, for itself.
const interpreter = "/proc/self/fd/3"

// remoteError says what it means that the interpreter could not ask.
func (t *task) remoteError(printed string) error {
	cause := fmt.Sprintf("%s cannot be had to run the agent: %v", t.Name, failure(printed))
	if strings.Contains(printed, "PermissionError") {
		return &RefusedError{Cause: cause, Remedy: launch, Forbidden: true}
	}
	return &FailedError{Cause: cause}
}
