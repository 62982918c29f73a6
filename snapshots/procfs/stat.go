package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit of /proc, the same on every Linux that Go runs on.
const Tick = 10 * time.Millisecond

// StartOf returns when a process began, in clock ticks since boot, from its stat
// file in /proc: pid and start together identify a process uniquely. A zombie has
// ended, and does not count as a process. The error is fs.ErrNotExist when there
// is no such process.
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

// Age returns how long a process has run.
func Age(pid int) (time.Duration, error) {
	start, err := StartOf(Of(pid, "stat"))
	if err != nil {
		return 0, err
	}
	text, err := Read("/proc/uptime")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	up, err := strconv.ParseFloat(first, 64)
	return time.Duration(up*float64(time.Second)) - time.Duration(start)*Tick, err
}

// IsStopped reports whether a signal has stopped a process.
func IsStopped(pid int) bool {
	fields, err := StatFields(Of(pid, "stat"), 0)
	return err == nil && fields[0][0] == 'T'
}

// StatFields returns the fields of a stat file after the command, at least up to
// the field numbered last.
func StatFields(path string, last int) ([][]byte, error) {
	stat, err := Read(path)
	if err != nil {
		return nil, Gone(err)
	}
	// The second field is the command in parentheses, which may contain any
	// character.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= last {
		return nil, fmt.Errorf("%s has only %d fields", path, len(fields))
	}
	return fields, nil
}

// Gone returns fs.ErrNotExist for the two errors of reading about an ended
// process, and every other error unchanged.
func Gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || strings.HasSuffix(err.Error(), "no such process") {
		return fs.ErrNotExist
	}
	return err
}
