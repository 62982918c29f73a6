package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit of /proc, the same on every Linux that Go runs on.
const Tick = 10 * time.Millisecond

// StartOf returns when a process began, in clock ticks since the machine did, from
// its stat file in /proc: together with its pid that names a process for good. A
// zombie has ended, and counts as none. The error is fs.ErrNotExist when there is
// no such process.
func StartOf(path string) (uint64, error) {
	const state, start = 0, 19
	fields, err := StatFields(path, start)
	if err != nil {
		return 0, err
	}
	if s := fields[state][0]; s == 'Z' || s == 'X' {
		return 0, fs.ErrNotExist
	}
	return strconv.ParseUint(string(fields[start]), 10, 64)
}

// StatFields returns the fields of a stat file after the command, as far as the
// one numbered last at least.
func StatFields(path string, last int) ([][]byte, error) {
	stat, err := os.ReadFile(path)
	if err != nil {
		return nil, Gone(err)
	}
	// The second field is the command in parentheses, which may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= last {
		return nil, fmt.Errorf("%s has only %d fields", path, len(fields))
	}
	return fields, nil
}

// Gone returns fs.ErrNotExist for the two errors that reading of an ended process
// can give, and every other error as it is.
func Gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || strings.HasSuffix(err.Error(), "no such process") {
		return fs.ErrNotExist
	}
	return err
}
