package terminal

import (
	"io"
	"unicode/utf8"
)

// sequenceFilter leaves out the control sequences of newer terminals that the
// emulator takes for others: those that begin ESC [ and then <, = or >, and the
// private ones that end in u, p or q. The keyboard protocol's ESC [ = 1 u, for
// one, would put its cursor elsewhere. It also keeps characters whole: output
// comes in pieces that end anywhere, and the emulator would take each part of a
// character for one.
type sequenceFilter struct {
	out     io.Writer
	pending []byte // a sequence that has begun
	kept    []byte // what goes to out, and of a character that has begun its first bytes
}

// longestSequence bounds what is held back.
const longestSequence = 64

func (f *sequenceFilter) write(b []byte) {
	for _, c := range b {
		if len(f.pending) == 0 && c != 0x1b {
			f.kept = append(f.kept, c)
			continue
		}
		f.pending = append(f.pending, c)
		if f.complete() {
			if !f.unknown() {
				f.kept = append(f.kept, f.pending...)
			}
			f.pending = f.pending[:0]
		}
	}
	whole := wholeCharacters(f.kept)
	_, _ = f.out.Write(f.kept[:whole]) // the emulator cannot fail
	f.kept = append(f.kept[:0], f.kept[whole:]...)
}

// wholeCharacters returns how many bytes of b are not the beginning of a
// character that is still to come.
func wholeCharacters(b []byte) int {
	for at := len(b) - 1; at >= 0 && at >= len(b)-utf8.UTFMax; at-- {
		if utf8.RuneStart(b[at]) {
			if utf8.FullRune(b[at:]) {
				break
			}
			return at
		}
	}
	return len(b)
}

// complete reports whether pending is a whole control sequence, or none.
func (f *sequenceFilter) complete() bool {
	switch n := len(f.pending); {
	case n == 1:
		return false
	case f.pending[1] != '[' || n > longestSequence:
		return true
	default:
		last := f.pending[n-1]
		return n > 2 && last >= 0x40 && last <= 0x7e
	}
}

func (f *sequenceFilter) unknown() bool {
	n := len(f.pending)
	if n < 4 || f.pending[1] != '[' {
		return false
	}
	switch f.pending[2] {
	case '<', '=', '>':
		return true
	case '?':
		last := f.pending[n-1]
		return last == 'u' || last == 'p' || last == 'q'
	default:
		return false
	}
}
