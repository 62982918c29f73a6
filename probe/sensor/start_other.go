//go:build !unix

package sensor

import (
	"context"
	"errors"
)

// Start fails: this system passes no sockets from one process to another.
func Start(context.Context, string, int) (string, error) {
	return "", errors.New("this system does not let memtop serve a program from outside")
}

// Attend returns: no host is started here.
func Attend() {}
