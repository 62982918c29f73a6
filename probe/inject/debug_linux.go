package inject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/memtop/memtop/snapshots/procfs"
)

const (
	debugWithin = time.Minute     // for a debugger to go in, call the functions and leave
	debugLeave  = 5 * time.Second // for a debugger that was told to stop
)

// debug makes a debugger add a line to the program that runs the script.
func (t *task) debug(ctx context.Context, script string) error {
	line := fmt.Sprintf("try:\n exec(open(%s, encoding='utf-8').read(), {})\nexcept BaseException:\n pass\n", literal(script))
	line = fmt.Sprintf("exec(bytes.fromhex('%x'), {})", line) // no quoting, whatever the path is
	args := t.gdbArguments(line)
	if path.Base(t.Debugger) != "gdb" {
		args = lldbArguments(t.PID, line)
	}
	printed, err := t.runDebugger(ctx, args)
	if err != nil {
		return err
	}
	if !strings.Contains(printed, accepted) {
		return t.toolError(path.Base(t.Debugger)+" could not go into "+t.Name, printed)
	}
	return nil
}

// accepted is printed by the debugger once the line is in the interpreter's list.
const accepted = "$pending = 0"

// gdbArguments makes gdb read only the interpreter's symbols: those of PyTorch would take it
// many seconds, and the program is stopped meanwhile.
func (t *task) gdbArguments(line string) []string {
	args := []string{"-nx", "-q", "-batch"}
	if t.Root != "/" {
		args = append(args, "-iex", "set sysroot "+t.Root) // its libraries are those of its container
	}
	for _, setting := range []string{
		"auto-load off", "debuginfod enabled off", "auto-solib-add off", "confirm off", "pagination off", "language c", "unwindonsignal on",
		"print thread-events off",
	} {
		args = append(args, "-iex", "set "+setting)
	}
	pid := strconv.Itoa(t.PID)
	args = append(args, "-se", "/proc/"+pid+"/exe", "-p", pid)
	for _, command := range []string{
		`sharedlibrary libpython`,
		`sharedlibrary libc\.so|ld-musl|/libc-`,
		fmt.Sprintf(`set $room = ((void*(*)(void*, unsigned long, int, int, int, long))mmap)((void*)0, %d, 3, 0x22, -1, 0L)`, len(line)+1),
		fmt.Sprintf(`set {char[%d]}$room = "%s"`, len(line)+1, line),
		`printf "$pending = %d\n", ((int(*)(void*, void*))Py_AddPendingCall)((void*)PyRun_SimpleString, $room)`,
		`detach`,
	} {
		args = append(args, "-ex", command)
	}
	return args
}

// lldbArguments does the same for lldb.
func lldbArguments(pid int, line string) []string {
	args := []string{"--no-lldbinit", "--batch"}
	for _, command := range []string{
		"settings set target.preload-symbols false",
		"settings set symbols.enable-external-lookup false",
		"settings set target.load-script-from-symbol-file false",
		fmt.Sprintf("process attach --pid %d", pid),
		fmt.Sprintf(`expression -l c -- char *$room = ((char*(*)(void*, unsigned long, int, int, int, long))mmap)((void*)0, %d, 3, 0x22, -1, 0L)`, len(line)+1),
		fmt.Sprintf(`expression -l c -- ((void*(*)(void*, const void*, unsigned long))memcpy)($room, "%s", %d)`, line, len(line)+1),
		`expression -l c -- void *$run = (void*)&PyRun_SimpleString`,
		`expression -l c -- int $pending = ((int(*)(void*, void*))Py_AddPendingCall)($run, $room)`,
		`expression -l c -- $pending`,
		"detach",
	} {
		args = append(args, "-o", command)
	}
	return args
}

// runDebugger runs the debugger and returns its output. The output goes into a file: a
// debugger whose reader has gone must not end in the middle of its work.
func (t *task) runDebugger(ctx context.Context, args []string) (string, error) {
	out, err := os.CreateTemp("", "memtop-debugger-*")
	if err != nil {
		return "", err
	}
	defer out.Close() // it was only read
	_ = os.Remove(out.Name())
	ctx, cancel := context.WithTimeoutCause(ctx, debugWithin, errors.New(path.Base(t.Debugger)+" took too long"))
	defer cancel()
	cmd := exec.CommandContext(ctx, t.Debugger, args...)
	cmd.Env = append(t.environment(), "DEBUGINFOD_URLS=")
	cmd.Stdout, cmd.Stderr = out, out
	failed := runTool(cmd, syscall.SIGTERM) // with which a debugger leaves the program
	t.letGo()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if state := cmd.ProcessState; state != nil && !state.Exited() {
		return "", &FailedError{Cause: fmt.Sprintf("%s ended before it was done: %v", path.Base(t.Debugger), failed)}
	}
	printed := make([]byte, maxPrinted)
	n, err := out.ReadAt(printed, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", errors.Join(failed, err)
	}
	return string(printed[:n]), nil
}

// maxPrinted is the most output of a debugger that is read, in bytes.
const maxPrinted = 64 << 10

// letGo continues the program if a killed debugger left it stopped.
func (t *task) letGo() {
	if procfs.IsStopped(t.PID) {
		_ = syscall.Kill(t.PID, syscall.SIGCONT) // it may have ended
	}
}
