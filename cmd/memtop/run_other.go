//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// become runs another program and exits with its exit code, because only Unix can
// replace a process's program.
func become(path string, args, environment []string) error {
	cmd := exec.Command(path, args[1:]...) //nolint:noctx // it ends by itself
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		os.Exit(cmd.ProcessState.ExitCode())
	}
	return err
}
