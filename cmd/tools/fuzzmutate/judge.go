package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// most returns what a run may have resident, in bytes: 1.2 times the bound of the
// files that it opens. The files are small, so the default bound is its floor.
func (i invocation) most() int64 {
	most := trace.DefaultBound.Least
	if slices.Contains(i.args, maxMemory) {
		most = bound
	}
	if i.args[0] == "diff" {
		most *= 2
	}
	return most * 12 / 10
}

// crashes are words of Go's: of a program that ends without meaning to, and of
// messages that speak of its insides.
var crashes = []string{"a bug in memtop", "panic:", "fatal error:", "goroutine ", "runtime error", "Go struct", "json: cannot"}

// judge returns what is wrong, "" if nothing is.
func (o *outcome) judge(i invocation) string {
	for _, word := range crashes {
		if strings.Contains(o.stderr, word) {
			return "it says: " + strings.TrimSpace(o.stderr)
		}
	}
	switch {
	case o.err != nil:
		return o.err.Error()
	case o.took >= patience:
		return fmt.Sprintf("it did not end within %v", patience)
	case o.signal != 0:
		return fmt.Sprintf("it was ended by a signal, %v: %s", o.signal, strings.TrimSpace(o.stderr))
	case !slices.Contains(i.codes, o.code):
		return fmt.Sprintf("exit code %d: %s", o.code, strings.TrimSpace(o.stderr))
	case o.amiss != "":
		return o.amiss
	case o.peak > i.most():
		return fmt.Sprintf("it had %d MiB resident, more than %d", o.peak>>20, i.most()>>20)
	case i.screen:
		return ""
	case !i.notices && strings.Count(o.stderr, "\n") != min(o.code, 1):
		return "a failure that is not one line: " + o.stderr
	}
	return ""
}
