package inject

import (
	"context"
	"os"
	"os/exec"
	"strconv"
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
	return t.toolError(t.Name+" could not be made to run the agent", string(printed.text))
}

// interpreter is the path of the first extra file, in the process that has it.
const interpreter = "/proc/self/fd/3"
