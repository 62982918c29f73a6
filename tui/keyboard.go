package tui

import (
	"bytes"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Keyboard is the input of a terminal. It notices when the terminal goes away: a
// program gets no signal of that if it ignores the signal or is outside the
// terminal's session. It shortens pasted text, see [typing].
type Keyboard struct {
	*os.File
	gone   func()
	typing *typing
}

// Read reads typed input. b must have room for a read of atOnce and for a paste.
func (k Keyboard) Read(b []byte) (int, error) {
	n, err := k.File.Read(b[:min(len(b), atOnce)])
	if err != nil {
		k.gone()
		return n, err
	}
	return copy(b, k.typing.take(b[:n], time.Now())), nil
}

// NewKeyboard returns the keyboard of a terminal, which calls gone when nothing more can
// be read.
func NewKeyboard(input *os.File, gone func()) Keyboard { return Keyboard{input, gone, &typing{}} }

// # Typed and pasted
//
// The screen draws a frame for every key, so a megabyte of keys would block it
// for minutes, and each key would have its effect. No user types a kilobyte
// between two reads: that is a paste in a terminal that does not mark pastes, and
// Keyboard treats it as one. Keyboard passes on only the printable beginning of a
// paste, and an ellipsis if there was more. Without this, Bubble Tea would look
// for keys inside the paste; and a paste with the beginning of a terminal's
// answer in it would hide its own end, and all later input.

const (
	atOnce     = 1 << 10               // bytes in one read; a user does not type so many
	pasteLimit = 2 << 10               // bytes of a paste that are passed on
	pause      = 50 * time.Millisecond // ends an unmarked paste
)

const (
	pasteBegin = ansi.BracketedPasteStart
	pasteEnd   = ansi.BracketedPasteEnd
	ellipsis   = "…"
)

// interrupts are Ctrl-C as terminals send it.
var interrupts = [][]byte{{3}, []byte("\x1b[99;5u")}

// typing is the state of the terminal's input so far.
type typing struct {
	pasting  bool // a mark has begun a paste that has not ended
	flooding bool // input is too fast to be typed, and has no mark
	matched  int  // how many bytes of the next mark have been read
	text     []byte
	cut      bool
	last     time.Time // of the last bytes
}

// take returns the input to pass on for the bytes read.
func (t *typing) take(in []byte, now time.Time) (out []byte) {
	full := len(in) == atOnce && !bytes.Contains(in, []byte(pasteBegin))
	began := full && !t.flooding
	t.flooding = !t.pasting && (full || t.flooding && now.Sub(t.last) < pause)
	t.last = now
	switch key := interruptIn(in); {
	case t.flooding && key != nil:
		return key
	case t.pasting && len(key) == len(in): // the user waits for the end of a paste
		return append(t.pasted(), key...)
	case t.flooding && began:
		out = append(out, pasteBegin+ellipsis+pasteEnd...)
	}
	for _, c := range in {
		out = t.byte(out, c)
	}
	return out
}

// interruptIn returns the Ctrl-C in bytes, nil if there is none.
func interruptIn(in []byte) []byte {
	for _, key := range interrupts {
		if bytes.Contains(in, key) {
			return key
		}
	}
	return nil
}

// byte takes a byte and appends the input to pass on to out.
func (t *typing) byte(out []byte, c byte) []byte {
	mark := pasteBegin
	if t.pasting {
		mark = pasteEnd
	}
	before := t.matched
	t.matched = matching(mark, before, c)
	whole := t.matched == len(mark)
	if whole {
		t.matched = 0
	}
	switch {
	case t.pasting && whole:
		return append(out, t.pasted()...)
	case t.pasting && t.matched <= before: // bytes that looked like the end mark are text
		t.add([]byte(mark[:before])...)
		if t.matched == 0 {
			t.add(c)
		}
	case !t.pasting && whole:
		t.pasting = true
		if t.flooding {
			return append(out, pasteBegin...)
		}
		return append(out, c)
	case !t.pasting && !t.flooding:
		return append(out, c)
	}
	return out
}

// matching returns how much of a mark was read after c, if n bytes were before.
func matching(mark string, n int, c byte) int {
	switch c {
	case mark[n]:
		return n + 1
	case mark[0]:
		return 1
	}
	return 0
}

// add adds to the text of a paste as far as there is room.
func (t *typing) add(text ...byte) {
	if len(t.text)+len(text) > pasteLimit {
		t.cut = true
		return
	}
	t.text = append(t.text, text...)
}

// pasted ends a paste and returns its text to pass on after the first mark.
func (t *typing) pasted() []byte {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(t.text), ""))
	if t.cut {
		printable += ellipsis
	}
	*t = typing{last: t.last}
	return []byte(printable + pasteEnd)
}
