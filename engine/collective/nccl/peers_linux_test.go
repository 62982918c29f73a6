package nccl

import (
	"encoding/binary"
	"errors"
	"os/exec"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/collective"
)

// silent is a library that has nothing to report.
type silent struct{ Library }

func (silent) Call(Symbol, ...uintptr) Result { return Success }

// ofProcess is the identity of another process of this machine.
func ofProcess(pid int) []byte {
	return binary.LittleEndian.AppendUint64(identity()[:machineBytes], uint64(pid))
}

// TestAProcessThatHasEndedIsLostUnlessAllAreLeaving has rank 2 of three end.
func TestAProcessThatHasEndedIsLostUnlessAllAreLeaving(t *testing.T) {
	c := exec.CommandContext(t.Context(), "cat")
	in, err := c.StdinPipe()
	fatal.If(t, err)
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _, _ = in.Close(), c.Wait() }() // it ends when it has read all
	g := &group{library: silent{}}
	elsewhere := append(make([]byte, machineBytes), ofProcess(c.Process.Pid)[machineBytes:]...) // the same number on another machine
	all := slices.Concat(identity(), elsewhere, ofProcess(c.Process.Pid))
	g.watch.peers.open(all, 0)
	defer g.watch.peers.close()
	list := g.watch.peers.list
	if len(list) == 0 {
		t.Skip("this kernel has no file descriptors of processes")
	}
	if len(list) > 1 {
		t.Fatal("a process of another machine is watched")
	}
	if err := g.missing(); err != nil {
		t.Fatalf("all run, and %v", err)
	}
	fatal.If(t, in.Close())
	if _, err := unix.Poll(list, -1); err != nil {
		t.Fatal(err)
	}
	g.leaving.Store(true)
	if err := g.missing(); err != nil {
		t.Errorf("all are leaving, and %v", err)
	}
	g.leaving.Store(false)
	var lost *collective.LostError
	if err := g.missing(); !errors.As(err, &lost) || lost.Rank != 2 || lost.PID != c.Process.Pid {
		t.Errorf("got %v, want that rank 2, process %d, has ended", err, c.Process.Pid)
	}
	g.leaving.Store(true)
	g.watch.since = g.watch.since.Add(-2 * leaveTime)
	if g.missing() == nil {
		t.Error("it is waited for those that leave for ever")
	}
}
