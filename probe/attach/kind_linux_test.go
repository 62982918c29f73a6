package attach

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/probetest"
)

// pythonWithTorch is a Python program that has mapped a file of that name, as one
// has that has loaded PyTorch.
const pythonWithTorch = `
import mmap, sys
f = open(sys.argv[1], "r+b")
mapped = mmap.mmap(f.fileno(), 0)
print("ready", flush=True)
sys.stdin.read()
`

// library makes a file with the name of one of PyTorch's.
func library(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "mt")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	chmod(t, folder, 0o755)
	path := filepath.Join(folder, "libtorch_cpu.so")
	must(t, os.WriteFile(path, make([]byte, 4096), 0o600))
	chmod(t, path, 0o666)
	return path
}

// started runs a command until the test ends, and returns its pid when it has
// said something.
func started(t *testing.T, as *syscall.Credential, words ...string) int {
	t.Helper()
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Skip(err)
	}
	c := exec.CommandContext(t.Context(), words[0], words[1:]...)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGKILL}
	stdin, err := c.StdinPipe()
	must(t, err)
	stdout, err := c.StdoutPipe()
	must(t, err, c.Start())
	t.Cleanup(func() { shut(stdin); _ = c.Process.Kill(); _ = c.Wait() })
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Skipf("%v does not run here: %v", words, err)
	}
	return c.Process.Pid
}

// hiding is a Python program that only root can inspect.
const hiding = `
import ctypes, sys
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
print("ready", flush=True)
sys.stdin.read()
`

func TestOfAProcessThatIsClosedOnlyWhatIsKnownIsTold(t *testing.T) {
	probetest.AsOtherUsers(t)
	pid := started(t, nobody, "/usr/bin/python3", "-c", hiding)
	want := fmt.Sprintf("attaching: no probe: process %d has no probe that this user may see", pid)
	if said := asNobody(t, strconv.Itoa(pid)); !strings.Contains(said, want) {
		t.Errorf("got %q, want %q", said, want)
	}
}

// childOf returns the process that a process has started.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Skip(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	return child
}

func TestAProcessWithoutAProbeIsRecognised(t *testing.T) {
	inNamespaces := []string{"unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"}
	python := []string{"python3", "-c", pythonWithTorch, library(t)}
	tests := map[string]struct {
		pid  func(t *testing.T) int
		want Kind
	}{
		"Python with PyTorch": {func(t *testing.T) int {
			t.Helper()
			return started(t, nil, python...)
		}, PyTorchKind},
		"the same in other namespaces": {func(t *testing.T) int {
			t.Helper()
			return childOf(t, started(t, nil, append(inNamespaces, python...)...))
		}, PyTorchKind},
		"the same of another user": {func(t *testing.T) int {
			t.Helper()
			probetest.AsOtherUsers(t)
			return started(t, nobody, append([]string{"/usr/bin/python3"}, python[1:]...)...)
		}, PyTorchKind},
		"Python without PyTorch": {func(t *testing.T) int {
			t.Helper()
			return started(t, nil, "python3", "-c", "print(flush=True); import sys; sys.stdin.read()")
		}, OtherKind},
		"a Go program": {func(*testing.T) int { return os.Getpid() }, GoKind},
		"another program": {func(t *testing.T) int {
			t.Helper()
			return started(t, nil, "sh", "-c", "echo; exec sleep 1000")
		}, OtherKind},
		"a thread of the kernel": {func(t *testing.T) int {
			t.Helper()
			if name, _ := os.ReadFile("/proc/2/comm"); string(name) != "kthreadd\n" {
				t.Skip("the kernel's threads are not seen here")
			}
			return 2
		}, KernelKind},
		"one that has ended":            {finished, UnknownKind},
		"one that has never been":       {func(*testing.T) int { return 1 << 30 }, UnknownKind},
		"one that ended and is a child": {zombie, UnknownKind},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := KindOf(test.pid(t)); got != test.want {
				t.Errorf("got kind %d, want %d", got, test.want)
			}
		})
	}
}

// finished returns the pid of a process that is no more.
func finished(t *testing.T) int {
	t.Helper()
	c := exec.CommandContext(t.Context(), "true")
	must(t, c.Run())
	return c.Process.Pid
}

// zombie returns the pid of a process that has ended and was not waited for.
func zombie(t *testing.T) int {
	t.Helper()
	c := exec.CommandContext(t.Context(), "true")
	must(t, c.Start())
	t.Cleanup(func() { _ = c.Wait() })
	probetest.Eventually(t, "its end", func() bool { _, err := startOf(c.Process.Pid); return err != nil })
	if _, err := find(t.Context(), c.Process.Pid); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("attaching gives %v", err)
	}
	return c.Process.Pid
}

func TestPyTorchIsSeenInWhatAProcessHasMappedAndInItsCommand(t *testing.T) {
	const python = "55d0-55d1 r--p 00000000 fd:01 1 /usr/bin/python3.12\n"
	maps := map[string]struct {
		text string
		want bool
	}{
		"PyTorch's libraries":      {python + "7f00-7f01 r-xp 00000000 fd:01 2 /opt/env/lib/libtorch_cpu.so\n", true},
		"deleted by an update":     {python + "7f00-7f01 r-xp 00000000 fd:01 2 /x/libc10_cuda.so (deleted)\n", true},
		"Python within a program":  {"7f00-7f01 r-xp 0 fd:01 2 /x/libtorch.so\n7f02-7f03 r-xp 0 fd:01 3 /usr/lib/libpython3.11.so.1.0\n", true},
		"Python alone":             {python, false},
		"a folder of that name":    {python + "7f00-7f01 r-xp 0 fd:01 2 /opt/libtorch/lib/other.so\n", false},
		"C++ that uses libtorch":   {"7f00-7f01 r-xp 0 fd:01 2 /x/libtorch.so\n", false},
		"more mappings than read":  {python + strings.Repeat("7f00-7f01 r--p 0 fd:01 2 /x\n", maxMappings/27) + "7f00-7f01 r-xp 0 fd:01 2 /x/libtorch.so\n", false},
		"a line that does not end": {strings.Repeat("x", 1<<20), false},
	}
	for name, test := range maps {
		if got := mapsPyTorch(strings.NewReader(test.text)); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	commands := map[string]bool{
		"/usr/bin/python3 /usr/bin/torchrun --nproc-per-node 8 train.py": true,
		"python -m torch.distributed.run train.py":                       true,
		"python3 -m accelerate.commands.launch train.py":                 true,
		"python -u -m deepspeed.launcher.launch train.py":                true,
		"python torch.py": false,
		"python train.py": false,
		"vim torchrun":    false,
		"":                false,
	}
	for line, want := range commands {
		if got := launchesTorch(strings.Split(line, " ")); got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
	}
}

func TestTheAgentKnowsTheSameLaunchers(t *testing.T) {
	text, err := os.ReadFile("../python/memtop/start/roles.py")
	must(t, err)
	for name, want := range map[string][]string{"_LAUNCHERS": launchers, "_LAUNCHER_PACKAGES": launcherPackages} {
		_, rest, _ := strings.Cut(string(text), "\n"+name+" = ")
		table, _, _ := strings.Cut(rest, "\n")
		var got []string
		for _, quoted := range regexp.MustCompile(`"[^"]+"`).FindAllString(table, -1) {
			got = append(got, strings.Trim(quoted, `"`))
		}
		sort := cmpopts.SortSlices(strings.Compare)
		equal.Values(t, fmt.Sprintf("%s differs from the table here", name), want, got, sort)
	}
}

func TestOnlySoMuchOfAProgramIsRead(t *testing.T) {
	program, err := os.Open("/proc/self/exe")
	must(t, err)
	defer shut(program)
	bounded := &boundedFile{program, 100}
	if _, err := bounded.ReadAt(make([]byte, 60), 0); err != nil {
		t.Error(err)
	}
	if _, err := bounded.ReadAt(make([]byte, 60), 0); !errors.Is(err, errTooMuch) {
		t.Errorf("got %v", err)
	}
}
