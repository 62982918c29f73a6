package attach

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// The variables that make this test binary another program.
const (
	beProgram = "MEMTOP_TEST_PROGRAM" // one with a probe
	beViewer  = "MEMTOP_TEST_VIEWER"  // one that attaches to the value, or lists all for "ls"
)

// TestProgramOfItsOwn is no test but a program with a probe, which runs until
// its standard input ends.
func TestProgramOfItsOwn(t *testing.T) {
	if os.Getenv(beProgram) == "" {
		t.Skip("it is run by other tests")
	}
	p := probetest.New()
	probe, err := probe.Listen(t.Context(), probe.Options{Control: p}, p)
	must(t, err)
	p.Run(11)
	p.Finish(probe)
	fmt.Println("listening", os.Getpid())
	_, _ = io.Copy(io.Discard, os.Stdin)
	must(t, probe.Close())
}

// TestViewerOfItsOwn is no test but a program that says what attaching gives.
func TestViewerOfItsOwn(t *testing.T) {
	target := os.Getenv(beViewer)
	if target == "" {
		t.Skip("it is run by other tests")
	}
	if target == "ls" {
		all, err := Discover(t.Context())
		for _, p := range all {
			fmt.Printf("%s: %v\n", p.Socket, p.Problem)
		}
		fmt.Println(err)
		return
	}
	c, err := Dial(t.Context(), target, DialOptions{})
	if err == nil {
		err = c.Close()
	}
	fmt.Printf("attaching: %s: %v\n", kindOf(err), err)
}

// other is a program of its own.
type other struct {
	*exec.Cmd
	stdin  io.Closer
	inside int // the pid that it has for itself
}

// startOther runs this test binary as a program with a probe, behind the words
// of another command if there are any, and waits until it listens.
func startOther(t *testing.T, folder string, as *syscall.Credential, before ...string) *other {
	t.Helper()
	return startProgram(t, executable(t), folder, as, before...)
}

func startProgram(t *testing.T, path, folder string, as *syscall.Credential, before ...string) *other {
	t.Helper()
	words := append(before, path, "-test.run=^TestProgramOfItsOwn$")
	o := &other{Cmd: exec.CommandContext(t.Context(), words[0], words[1:]...)}
	o.Env = append(os.Environ(), beProgram+"=1", "MEMTOP_DIR="+folder)
	o.SysProcAttr = &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGKILL}
	stdin, err := o.StdinPipe()
	must(t, err)
	o.stdin = stdin
	stdout, err := o.StdoutPipe()
	must(t, err)
	var told strings.Builder
	o.Stderr = &told
	must(t, o.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = o.Process.Kill(); _ = o.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if _, err2 := fmt.Sscanf(line, "listening %d", &o.inside); err != nil || err2 != nil {
		_ = o.Wait()
		t.Skipf("%s does not run here: %q %s", strings.Join(before, " "), line, told.String())
	}
	return o
}

// executable returns a name of this test binary, another one each time, under which
// other users can run it.
func executable(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "mt")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	chmod(t, folder, 0o755)
	path := filepath.Join(folder, "program")
	if os.Link(os.Args[0], path) == nil {
		return path
	}
	program, err := os.ReadFile("/proc/self/exe") // it lies on another file system
	must(t, err, os.WriteFile(path, program, 0o755))
	return path
}

// asNobody runs this test binary as a viewer of another user, with variables of its
// environment, and returns what it says.
func asNobody(t *testing.T, target string, environment ...string) string {
	t.Helper()
	viewer := exec.CommandContext(t.Context(), executable(t), "-test.run=^TestViewerOfItsOwn$")
	viewer.Env = append(append(os.Environ(), beViewer+"="+target), environment...)
	viewer.SysProcAttr = &syscall.SysProcAttr{Credential: nobody}
	said, err := viewer.CombinedOutput()
	if err != nil {
		t.Errorf("the viewer ends with %v: %s", err, said)
	}
	return string(said)
}

// discovered returns the process whose socket is under path.
func discovered(t *testing.T, path string) *Process {
	t.Helper()
	all, err := Discover(t.Context())
	must(t, err)
	for i := range all {
		if strings.Contains(all[i].Socket, path) {
			return &all[i]
		}
	}
	return nil
}

func TestProgramsInOtherNamespacesAreFound(t *testing.T) {
	tests := map[string][]string{
		"another count of processes":         {"unshare", "--pid", "--fork"},
		"another /proc as well":              {"unshare", "--pid", "--fork", "--mount-proc"},
		"a file system that only it can see": {"unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", `mount -t tmpfs none "$MEMTOP_DIR" && chmod 700 "$MEMTOP_DIR" && exec "$0" "$@"`},
		"another clock since boot":           {"unshare", "--time", "--boottime", "100000", "--fork"},
		"another user namespace":             {"unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"},
	}
	for name, words := range tests {
		t.Run(name, func(t *testing.T) {
			folder := shortFolder(t)
			o := startOther(t, folder, nil, words...)
			if o.inside == o.Process.Pid {
				t.Skip("it is in no namespace of its own")
			}
			p := discovered(t, folder)
			if p == nil {
				t.Fatal("it is not discovered")
			}
			if p.Problem != nil || p.Info.PID != o.inside {
				t.Fatalf("it is discovered as %+v (%v), want %d to be its own pid", p.Info, p.Problem, o.inside)
			}
			for _, target := range []string{strconv.Itoa(p.PID), p.Socket} {
				c := dialling(t, target, DialOptions{})
				if c.Trace().Live.PID != p.PID || len(taken(c.Trace())) != 11 {
					t.Errorf("attaching by %s shows process %d with %d slots taken", target, c.Trace().Live.PID, len(taken(c.Trace())))
				}
			}
		})
	}
}

// nobody is a user that owns nothing.
var nobody = &syscall.Credential{Uid: 65534, Gid: 65534}

func TestRootAttachesToAnybodyAndNobodyElseDoes(t *testing.T) {
	probetest.AsOtherUsers(t)
	folder := shortFolder(t)
	chmod(t, filepath.Dir(folder), 0o755)
	ours := startOther(t, folder, nil)

	theirs := shortFolder(t)
	chmod(t, filepath.Dir(theirs), 0o755)
	chown(t, theirs, int(nobody.Uid))
	o := startOther(t, theirs, nobody)
	c := dialling(t, strconv.Itoa(o.Process.Pid), DialOptions{})
	if got := c.Process().User; got != UserName(int(nobody.Uid)) {
		t.Errorf("the process is %s's, want it to be %s's", got, UserName(int(nobody.Uid)))
	}
	socket := discovered(t, folder)
	if socket == nil {
		t.Fatal("root's own program is not discovered")
	}
	for _, target := range []string{strconv.Itoa(ours.Process.Pid), socket.Socket} {
		if said := asNobody(t, target, "MEMTOP_DIR="+theirs); !strings.Contains(said, "attaching: not permitted") {
			t.Errorf("another user who attaches to %s is told %q", target, said)
		}
	}
}

func TestAProgramThatIsKilledLeavesItsLastState(t *testing.T) {
	folder := shortFolder(t)
	o := startOther(t, folder, nil)
	c := dialling(t, strconv.Itoa(o.Process.Pid), DialOptions{})
	must(t, o.Process.Kill())
	_ = o.Wait() // without Wait it is not gone
	last := awaiting(t, c, "the end", func(now *trace.Trace) bool { return now.Live.Note == ended })
	if last.Live.Connected || len(taken(last)) != 11 {
		t.Errorf("the last state is connected: %v, with %d slots taken", last.Live.Connected, len(taken(last)))
	}
	if _, err := Dial(t.Context(), strconv.Itoa(o.Process.Pid), DialOptions{}); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("attaching to the dead gives %v", err)
	}
}
