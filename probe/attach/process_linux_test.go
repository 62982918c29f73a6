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
	if err != nil {
		t.Fatal(err)
	}
	p.Run(11)
	p.Finish(probe)
	fmt.Println("listening", os.Getpid())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := probe.Close(); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	o.stdin = stdin
	stdout, err := o.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	o.Stderr = &told
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = o.Process.Kill(); _ = o.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if _, err2 := fmt.Sscanf(line, "listening %d", &o.inside); err != nil || err2 != nil {
		_ = o.Wait()
		t.Skipf("%s does not run here: %q %s", strings.Join(before, " "), line, told.String())
	}
	return o
}

// executable returns a copy of this test binary that other users can run.
func executable(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "mt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	chmod(t, folder, 0o755)
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "program")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// discovered returns the process whose socket is under path.
func discovered(t *testing.T, path string) *Process {
	t.Helper()
	all, err := Discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
	if got := c.Process().User; got != userOf(int(nobody.Uid)) {
		t.Errorf("the process is %s's, want it to be %s's", got, userOf(int(nobody.Uid)))
	}
	socket := discovered(t, folder)
	if socket == nil {
		t.Fatal("root's own program is not discovered")
	}
	for _, target := range []string{strconv.Itoa(ours.Process.Pid), socket.Socket} {
		viewer := exec.CommandContext(t.Context(), executable(t), "-test.run=^TestViewerOfItsOwn$")
		viewer.Env = append(os.Environ(), beViewer+"="+target, "MEMTOP_DIR="+theirs)
		viewer.SysProcAttr = &syscall.SysProcAttr{Credential: nobody}
		said, err := viewer.CombinedOutput()
		if err != nil || !strings.Contains(string(said), "attaching: not permitted") {
			t.Errorf("another user who attaches to %s is told %q (%v)", target, said, err)
		}
	}
}

func TestAProgramThatIsKilledLeavesItsLastState(t *testing.T) {
	folder := shortFolder(t)
	o := startOther(t, folder, nil)
	c := dialling(t, strconv.Itoa(o.Process.Pid), DialOptions{})
	if err := o.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = o.Wait() // without Wait it is not gone
	last := awaiting(t, c, "the end", func(now *trace.Trace) bool { return now.Live.Note == ended })
	if last.Live.Connected || len(taken(last)) != 11 {
		t.Errorf("the last state is connected: %v, with %d slots taken", last.Live.Connected, len(taken(last)))
	}
	if _, err := Dial(t.Context(), strconv.Itoa(o.Process.Pid), DialOptions{}); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("attaching to the dead gives %v", err)
	}
}
