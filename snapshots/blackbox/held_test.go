//go:build unix

package blackbox

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// holderVariable has the test binary hold the file that it names.
const holderVariable = "MEMTOP_TEST_HOLD"

func TestMain(m *testing.M) {
	if path := os.Getenv(holderVariable); path != "" {
		hold(path)
		return
	}
	os.Exit(m.Run())
}

// hold takes the lock and starts a process that inherits the open file, and says so.
func hold(path string) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		os.Exit(2)
	}
	child := exec.Command("cat") //nolint:noctx // it ends with its standard input
	child.Stdin, child.ExtraFiles = os.Stdin, []*os.File{f}
	if child.Start() != nil || Hold(f) != nil {
		os.Exit(2)
	}
	_, _ = os.Stdout.WriteString("held\n")
	select {}
}

// TestABoxIsHeldUntilItsProgramEnds kills a program whose child still has the file open.
func TestABoxIsHeldUntilItsProgramEnds(t *testing.T) {
	path := fatal.Write(t, "1-1.box", nil)
	f, err := os.Open(path)
	fatal.If(t, err)
	defer f.Close()
	if Held(f) {
		t.Error("a file without a program is held")
	}
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), holderVariable+"="+path)
	in, err := c.StdinPipe()
	fatal.If(t, err)
	defer func() { _ = in.Close() }() // which ends the child's child
	out, err := c.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, c.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the program says %q, %v", line, err)
	}
	if !Held(f) {
		t.Error("the file of a running program is not held")
	}
	fatal.If(t, c.Process.Kill())
	_, _ = c.Process.Wait() // it was killed; its child still has the output
	if Held(f) {
		t.Error("the file is held by a program that was killed")
	}
}
