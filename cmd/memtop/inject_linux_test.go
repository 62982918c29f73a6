package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/inject"
	"github.com/memtop/memtop/probe/python"
)

// passesForTorch starts Python that has a library of PyTorch's name mapped until the
// test ends, and returns its pid.
func passesForTorch(t *testing.T, python, folder string, as *syscall.Credential) int {
	t.Helper()
	library := filepath.Join(folder, "libtorch_cpu.so")
	fatal.If(t, os.WriteFile(library, []byte("as large as it is mapped"), 0o666))
	fatal.If(t, os.Chmod(library, 0o666)) //nolint:gosec // another user maps it
	const program = `
import mmap, sys
file = open(sys.argv[1], "r+b")
mapped = mmap.mmap(file.fileno(), 0)
print("ready", flush=True)
while True: sum(range(1000))
`
	job := exec.CommandContext(t.Context(), python, "-c", program, library)
	job.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	job.Env = append(os.Environ(), "MEMTOP_DIR="+filepath.Join(folder, "sockets"))
	output, err := job.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, job.Start())
	t.Cleanup(func() { _ = job.Process.Kill(); _ = job.Wait() })
	if !bufio.NewScanner(output).Scan() {
		t.Fatal("the program ended")
	}
	return job.Process.Pid
}

// ownPython is the one that this user's programs are run by.
func ownPython(t *testing.T) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no Python here: ", err)
	}
	return python
}

// TestTheAgentIsNotStartedUnasked answers the question no, and yes for a program that
// turns out to have no PyTorch: either way it goes on.
func TestTheAgentIsNotStartedUnasked(t *testing.T) {
	for name, test := range map[string]struct {
		key  string
		code int
		says string
	}{
		"no":     {"n", command.ExitOK, ""},
		"escape": {"\x1b", command.ExitOK, ""},
		"yes":    {"y", command.ExitError, "has no agent"},
	} {
		t.Run(name, func(t *testing.T) {
			liveness(t)
			pid := passesForTorch(t, ownPython(t), t.TempDir(), nil)
			if _, err := inject.NewPlan(pid); err != nil {
				t.Skip(err)
			}
			s := openScreen(t, 80, 24, "attach", strconv.Itoa(pid))
			s.see("Process "+strconv.Itoa(pid)+" is a PyTorch program", "Start it?   y yes   n no")
			s.press(test.key)
			s.see(test.says)
			s.leave(test.code)
			if err := syscall.Kill(pid, 0); err != nil {
				t.Errorf("the program has ended: %v", err)
			}
		})
	}
}

// TestRootGoesInAsTheUserOfTheProgram attaches to a program of another user: the question
// says as whom, and memtop then becomes that one, which finds no PyTorch.
func TestRootGoesInAsTheUserOfTheProgram(t *testing.T) {
	probetest.AsOtherUsers(t)
	liveness(t)
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("there is no Python for every user: ", err)
	}
	const user = 64999
	folder, err := os.MkdirTemp("", "memtop-user-*") // those of the test are closed to others
	fatal.If(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	fatal.If(t, os.Chown(folder, user, user))
	pid := passesForTorch(t, "/usr/bin/python3", folder, &syscall.Credential{Uid: user, Gid: user})
	if _, err := inject.NewPlan(pid); err != nil {
		t.Skip(err)
	}
	s := openScreen(t, 100, 24, "attach", strconv.Itoa(pid))
	s.see("as user 64999 (64999), with the rights of process "+strconv.Itoa(pid), "none of root's", "Start it?   y yes   n no")
	s.press("y")
	s.see("process " + strconv.Itoa(pid) + " has no agent: it has not imported PyTorch")
	s.leave(command.ExitError)
	if info, err := os.Stat(filepath.Join(folder, "sockets")); err != nil || info.Sys().(*syscall.Stat_t).Uid != user {
		t.Errorf("the agent's folder is %+v, %v, want user 64999's", info, err)
	}
}

// TestAProgramThatBeginsIsWaitedFor attaches to a program of memtop run that has no
// agent yet: a shell, which becomes one that has a probe when it is told to.
func TestAProgramThatBeginsIsWaitedFor(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skipf("no shell that calls a program by another name: %v", err)
	}
	liveness(t)
	trainer := commandNamed(t, trainer, "--steps", "0")
	command := exec.CommandContext(t.Context(), shell, append([]string{"-c", `read && name=$1 && shift && exec -a "$name" "$0" "$@"`, trainer.Path}, trainer.Args...)...)
	command.Env = python.Environment(os.Environ(), filepath.Join(t.TempDir(), python.Name()))
	line, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	fatal.If(t, err)
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })

	s := openScreen(t, 80, 24, "attach", strconv.Itoa(command.Process.Pid))
	s.see("has no agent yet: it starts when PyTorch is imported")
	if _, err := line.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	s.see("live", "ckpt none")
	s.press("q")
}
