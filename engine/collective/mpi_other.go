//go:build !linux

package collective

import "errors"

func loadMPI(string) (library, error) {
	return nil, &UnavailableError{errors.New("it is loaded on Linux only")}
}
