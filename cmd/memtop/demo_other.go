//go:build !linux

package main

import (
	"os"
	"os/exec"
)

// apart does nothing. If memtop is killed, memtrain goes on, and memtop can attach
// to it again.
func apart(*exec.Cmd) {}

// interrupt asks a process to end, if the system allows that.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
