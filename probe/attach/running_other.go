//go:build !linux

package attach

import (
	"context"
	"errors"
)

// Look is not possible here.
func Look(int) (*Running, error) { return nil, errors.New("memtop knows of processes on Linux only") }

// Bare finds none here.
func Bare(context.Context, []int) ([]Process, error) { return nil, nil }
