//go:build !linux

package nccl

import "errors"

func load() (Library, error) { return nil, unavailable(errors.New("it is loaded on Linux only")) }
