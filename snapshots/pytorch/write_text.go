package pytorch

import (
	"strings"
	"unicode/utf8"
)

// # Text that is not UTF-8
//
// Names of files and functions are bytes on Linux, and may not be text. Python
// then puts a lone surrogate, U+DC80 to U+DCFF, in the place of a byte (PEP 383),
// and its pickles encode a surrogate in three bytes, as UTF-8 would. Python
// refuses to load anything else that is not UTF-8. So surrogates are written
// unchanged, and every other byte as its surrogate: os.fsencode restores the
// bytes.

// pythonText returns s in a form that Python can load.
func pythonText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r != utf8.RuneError || n > 1:
		case len(s) >= 3 && s[0] == 0xed && s[1]&0xe0 == 0xa0 && s[2]&0xc0 == 0x80: // a surrogate, U+D800 to U+DFFF
			n = 3
		default:
			b.Write([]byte{0xed, 0xb0 | s[0]>>6, 0x80 | s[0]&0x3f})
			s = s[1:]
			continue
		}
		b.WriteString(s[:n])
		s = s[n:]
	}
	return b.String()
}
