//go:build !linux

package mpi

import "errors"

func loadMPI(string) (library, error) {
	return nil, unavailable(errors.New("it is loaded on Linux only"))
}
