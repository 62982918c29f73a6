//go:build !linux && !darwin

package hostbuild

import "errors"

var errSystem = errors.New("kernels are not built for this system's processor")

func load(string) (uintptr, error) { return 0, errSystem }

func symbol(uintptr, string) (uintptr, error) { return 0, errSystem }

func lock(string) (unlock func(), err error) { return nil, errSystem }
