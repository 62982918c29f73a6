//go:build !linux

package command

import "os/exec"

// endWithThread does nothing: only Linux ends a command with its parent.
func endWithThread(*exec.Cmd) {}
