//go:build !linux

package main

import (
	"os"
	"os/exec"
)

// endWithParent does nothing: only Linux ends a child with its parent. Should
// memtop be killed, memtrain goes on and can be attached to again.
func endWithParent(*exec.Cmd) {}

// interrupt asks a process to end, where that can be asked.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
