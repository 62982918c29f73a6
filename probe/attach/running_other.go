//go:build !linux

package attach

import (
	"context"
	"errors"
)

// Look is not possible here.
func Look(int) (*Running, error) {
	return nil, errors.New("memtop can inspect processes only on Linux")
}

// Bare finds no program on this system.
func Bare(context.Context, []int) ([]Process, error) { return nil, nil }
