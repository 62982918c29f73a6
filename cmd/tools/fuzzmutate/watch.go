package main

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/memtop/memtop/snapshots/mutate"
)

// headBytes is how much of what is written is kept.
const headBytes = 8 << 10

// watcher reads what a program writes and looks for characters that a terminal
// obeys or does not show.
type watcher struct {
	screen  bool   // control sequences are the program's own way to draw
	head    []byte // the beginning of all
	amiss   string // what was found first
	read    int64
	pending []byte // of a character or a control sequence that has begun
}

// Write never fails.
func (w *watcher) Write(b []byte) (int, error) {
	w.head = append(w.head, b[:min(len(b), headBytes-len(w.head))]...)
	w.pending = append(w.pending, b...)
	rest := w.pending
	for len(rest) > 0 {
		n := w.next(rest)
		if n == 0 {
			break
		}
		rest = rest[n:]
		w.read += int64(n)
	}
	w.pending = append(w.pending[:0], rest...)
	return len(b), nil
}

// next looks at what b begins with and returns its length, 0 if its end is
// still to come.
func (w *watcher) next(b []byte) int {
	if w.screen && b[0] == 0x1b {
		n := sequence(b)
		if bytes.Contains(b[:n], []byte(mutate.EscapeMark)) {
			w.find("the file's control sequence %q", b[:n])
		}
		return n
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	switch {
	case r == utf8.RuneError && n == 1:
		w.find("a byte that is not UTF-8, %q", b[:n])
	case r == '\n' || r == '\t' || w.screen && (r == '\r' || r == '\b' || r == '\a'):
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
		w.find("the character %U", r)
	}
	return n
}

func (w *watcher) find(format string, what any) {
	if w.amiss == "" {
		w.amiss = fmt.Sprintf(format+" at byte %d", what, w.read)
	}
}

// end returns what was found, "" for nothing.
func (w *watcher) end(where string) string {
	if len(w.pending) > 0 && !w.screen {
		w.find("a cut character, %q", w.pending)
	}
	if w.amiss == "" {
		return ""
	}
	return where + " has " + w.amiss
}

// sequence returns the length of the control sequence that b begins with, 0 if
// its end is still to come.
func sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
		for i, c := range b[2:] {
			if c >= 0x40 && c <= 0x7e {
				return i + 3
			}
		}
		return 0
	case ']', 'P', '_', '^':
		for i, c := range b[2:] {
			if c == '\a' || c == '\\' && b[i+1] == 0x1b {
				return i + 3
			}
		}
		return 0
	default:
		return 2
	}
}
