package inject

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/sensor"
)

// TestMain makes this binary what its name says: an impostor, or a test.
func TestMain(m *testing.M) {
	program, err := os.Executable()
	name := filepath.Base(program)
	if err == nil && (strings.HasPrefix(name, "python3.") || name == "gdb") {
		os.Exit(impostor(filepath.Dir(program), os.Args[1:]))
	}
	Attend()
	sensor.Attend()
	os.Exit(m.Run())
}

// impostor passes for a Python with PyTorch until its standard input ends. Where it is
// run as an interpreter, or as a debugger, it writes into its folder what it may do.
func impostor(folder string, args []string) int {
	if len(args) == 3 && args[0] == "swap" {
		swap(args[1], args[2])
	}
	name := "proof"
	if len(args) > 0 && args[0] == "job" {
		name = "job"
	}
	if _, err := os.Stat(filepath.Join(folder, "holds")); err == nil && name == "proof" {
		_ = unix.Kill(os.Getppid(), unix.SIGSTOP)
		_ = os.WriteFile(filepath.Join(folder, "held"), []byte(portrayal()), 0o666)
		<-time.After(time.Hour)
	}
	if err := os.WriteFile(filepath.Join(folder, name), []byte(portrayal()), 0o666); err != nil || name == "proof" {
		fmt.Println(err)
		return 1
	}
	library, err := os.Open(filepath.Join(folder, "libtorch_cpu.so"))
	if err == nil {
		_, err = unix.Mmap(int(library.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// swap puts a link in the place of every folder that appears at a path, as fast as it can.
func swap(path, target string) {
	link := path + "-link"
	fmt.Println("ready")
	for {
		_ = unix.Symlink(target, link)
		if unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE) == nil {
			_ = os.RemoveAll(link) // the folder; the link stays until it is looked at
		}
	}
}

// compared are the lines of a status file that say what a process may do.
var compared = []string{"Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapAmb", "limits", "nice and policy"}

// secret is the name of a key.
const secret = "memtop-secret-of-root"

// keyOfSession returns the secret that this process can read, "" if it can read none.
func keyOfSession() string {
	for _, ring := range []int{unix.KEY_SPEC_THREAD_KEYRING, unix.KEY_SPEC_PROCESS_KEYRING, unix.KEY_SPEC_SESSION_KEYRING} {
		key, err := unix.KeyctlSearch(ring, "user", secret, 0)
		text := make([]byte, 80)
		if err == nil {
			n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, key, text, 0)
			return fmt.Sprint(string(text[:max(n, 0)]), err)
		}
	}
	return ""
}

// portrayal says what this process may do, where it is and what it has, a line each.
func portrayal() string {
	var text strings.Builder
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		fmt.Fprintf(&text, "%s: %s\n", name, strings.Join(strings.Fields(value), " "))
	}
	for _, kind := range namespaces {
		link, _ := os.Readlink("/proc/self/ns/" + kind)
		fmt.Fprintf(&text, "%s: %s\n", kind, link)
	}
	session, _ := unix.Getsid(0)
	fmt.Fprintf(&text, "session: %d\n", session)
	groups, _ := os.ReadFile("/proc/self/cgroup")
	fmt.Fprintf(&text, "control groups: %q\n", groups)
	limits, _ := os.ReadFile("/proc/self/limits")
	fmt.Fprintf(&text, "limits: %q\n", limits)
	stat, _ := os.ReadFile("/proc/self/stat")
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	fmt.Fprintf(&text, "nice and policy: %s %s\n", fields[16], fields[38])
	fmt.Fprintf(&text, "key: %s\n", keyOfSession())
	fmt.Fprintf(&text, "environment: %s\n", os.Environ())
	files, _ := os.ReadDir("/proc/self/fd")
	var open []string
	for _, file := range files {
		link, err := os.Readlink("/proc/self/fd/" + file.Name())
		if err == nil && !strings.Contains(link, ":[") && !strings.HasPrefix(link, "anon_inode:") { // pipes, and the runtime's
			open = append(open, link)
		}
	}
	fmt.Fprintf(&text, "files: %s\n", open)
	return text.String()
}

// said returns what a portrayal says of something.
func said(portrayal, of string) string {
	for line := range strings.Lines(portrayal) {
		if value, is := strings.CutPrefix(line, of+": "); is {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// stage is a folder that every user can enter, with the impostors in it.
func stage(t *testing.T, owner int) string {
	t.Helper()
	probetest.AsOtherUsers(t)
	if testing.Short() {
		t.Skip("it starts many programs, each of which waits a second under the race detector")
	}
	folder, err := os.MkdirTemp("", "memtop-attack-*")
	fatal.If(t, err)
	t.Cleanup(func() {
		_ = os.RemoveAll(folder)
		_ = os.RemoveAll(fmt.Sprintf("/tmp/memtop-%d", attacker)) // where it has its sockets if not here
	})
	program := fatal.Read(t, "/proc/self/exe")
	err = errors.Join(
		os.Chmod(folder, 0o755), os.Chown(folder, owner, owner),
		os.WriteFile(filepath.Join(folder, "python3.14"), program, 0o700), os.Chown(filepath.Join(folder, "python3.14"), owner, owner),
		os.Link(filepath.Join(folder, "python3.14"), filepath.Join(folder, "gdb")),
		os.WriteFile(filepath.Join(folder, "libtorch_cpu.so"), make([]byte, 4096), 0o644),
	)
	fatal.If(t, err)
	return folder
}

// attacker is who owns nothing of root's.
const attacker = 64999

// begin starts an impostor behind the words of another command, if there are any, and
// returns its pid here.
func begin(t *testing.T, folder, place string, as *syscall.Credential, before ...string) int {
	t.Helper()
	program := filepath.Join(folder, "python3.14")
	pid := play(t, as, []string{"MEMTOP_DIR=" + place, "PATH=" + os.Getenv("PATH")}, append(before, program, "job")...)
	return playing(t, pid, program)
}

// play starts a program that says when it is ready, until the test ends.
func play(t *testing.T, as *syscall.Credential, environment []string, words ...string) (pid int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Env = environment
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	input, err := cmd.StdinPipe()
	fatal.If(t, err)
	output, err := cmd.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, cmd.Start())
	t.Cleanup(func() { _ = input.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, _ := bufio.NewReader(output).ReadString('\n'); line != "ready\n" {
		t.Skipf("%s does not run here: %q", strings.Join(words, " "), line)
	}
	return cmd.Process.Pid
}

// playing returns the process among a process and its children that runs a program.
func playing(t *testing.T, pid int, program string) int {
	t.Helper()
	want, err := os.Stat(program)
	fatal.If(t, err)
	for {
		if got, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && os.SameFile(got, want) {
			return pid
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if _, err2 := fmt.Sscan(string(children), &pid); err != nil || err2 != nil {
			t.Fatalf("no child of %d runs %s: %v %v", pid, program, err, err2)
		}
	}
}
