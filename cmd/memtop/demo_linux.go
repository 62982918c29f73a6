package main

import (
	"os"
	"os/exec"
	"syscall"
)

// endWithParent makes the system end the child when memtop ends, in whatever way.
// The child has a process group of its own, so signals from the keyboard reach
// only memtop.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// interrupt asks a process to end.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
