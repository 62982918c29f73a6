package terminal

import "io"

// sequenceFilter leaves out the control sequences of newer terminals that the
// emulator takes for others: those that begin ESC [ and then <, = or >, and the
// private ones that end in u, p or q. The keyboard protocol's ESC [ = 1 u, for
// one, would put its cursor elsewhere.
type sequenceFilter struct {
	out     io.Writer
	pending []byte // a sequence that has begun
}

// longestSequence bounds what is held back.
const longestSequence = 64

func (f *sequenceFilter) write(b []byte) {
	kept := make([]byte, 0, len(b)+len(f.pending))
	for _, c := range b {
		if len(f.pending) == 0 && c != 0x1b {
			kept = append(kept, c)
			continue
		}
		f.pending = append(f.pending, c)
		if f.complete() {
			if !f.unknown() {
				kept = append(kept, f.pending...)
			}
			f.pending = f.pending[:0]
		}
	}
	_, _ = f.out.Write(kept) // the emulator cannot fail
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
