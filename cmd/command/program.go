package command

import (
	"errors"
	"io/fs"
	"os/exec"
)

// ProgramError returns why a program cannot be started.
func ProgramError(name string, err error) error {
	var call *exec.Error
	if errors.As(err, &call) {
		err = call.Err
	}
	if errors.Is(err, exec.ErrNotFound) {
		err = fs.ErrNotExist
	}
	return &fs.PathError{Op: "run", Path: name, Err: err}
}
