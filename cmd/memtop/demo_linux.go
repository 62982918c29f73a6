package main

import (
	"os"
	"os/exec"
	"syscall"
)

// endWithParent has the system end the child when memtop ends, in whatever way.
// The child has a process group of its own: what is typed is for memtop.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// interrupt asks a process to end.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
