//go:build !linux

package mpi

import (
	"errors"

	"memtop/engine/collective"
)

func loadMPI(string) (library, error) {
	return nil, &collective.UnavailableError{Err: errors.New("it is loaded on Linux only")}
}
