package main

import (
	"os"
	"os/exec"
	"syscall"
)

// apart gives the child a process group of its own, so signals from the keyboard
// reach only memtop.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// interrupt asks a process to end.
func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }
