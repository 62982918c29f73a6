//go:build !linux

package reopen

import (
	"errors"
	"io/fs"
	"os"
)

// Without a time of the last change of everything that no program can set, a file cannot
// be known again; see "Which entry is about which file". There are no entries then.

const nonBlocking = 0

func identityOf(fs.FileInfo) (identity, error) { return identity{}, errors.ErrUnsupported }

func ownAlone(string, fs.FileInfo) error { return errors.ErrUnsupported }

func mapEntry(*os.Root, string) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return nil }

func freeBytes(*os.Root) (int64, error) { return 0, errors.ErrUnsupported }

// BeLast does nothing here.
func BeLast() {}
