package trace

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// # Printable
//
// A trace's strings come from a file or a peer. They may hold escape sequences,
// characters that turn the direction of what follows or that take no room, and
// bytes that are no text at all. What a terminal or an editor would obey or hide
// never leaves the program: in text the replacement character stands for it, in
// JSON its escape, which a reader takes for the same string.
//
// Text that is measured or cut is made printable before, by [Printable]. All
// else is made so where it leaves, by [PrintableText] and [PrintableJSON], so
// that whoever prints cannot forget it.

// Printable returns s safe to show on a terminal: every character that is not
// printable, newlines and tabs among them, and every byte that is not UTF-8
// becomes the replacement character.
func Printable(s string) string {
	if clean(s, false) {
		return s
	}
	return strings.Map(func(r rune) rune { return shown(r, false) }, s)
}

// PrintableLines is Printable, but newlines and tabs stay: for text that is laid
// out already.
func PrintableLines(s string) string {
	if clean(s, true) {
		return s
	}
	return strings.Map(func(r rune) rune { return shown(r, true) }, s)
}

// shown returns r, or what is shown in its place.
func shown(r rune, lines bool) rune {
	if unicode.IsPrint(r) || lines && (r == '\n' || r == '\t') {
		return r
	}
	return utf8.RuneError
}

// Shorten returns text, or where it has more than most bytes its beginning with
// an ellipsis. No character is cut in two.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:boundary(text, most)] + "…"
}

// ShortenPath is Shorten, but the end is what stays.
func ShortenPath(path string, most int) string {
	if len(path) <= most {
		return path
	}
	return "…" + path[boundary(path, len(path)-most):]
}

// boundary returns the place of the character that is at a byte.
func boundary(text string, at int) int {
	for back := 0; back < utf8.UTFMax && at > 0 && !utf8.RuneStart(text[at]); back++ {
		at--
	}
	return at
}

// clean reports whether s is printable ASCII, as nearly all text is.
func clean[T string | []byte](s T, lines bool) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && (!lines || c != '\n' && c != '\t') {
			return false
		}
	}
	return true
}

// PrintableText returns a writer to w that makes text printable as
// PrintableLines does, wherever it is cut in pieces. Of a character that never
// ends nothing is written. The writer is owned by one goroutine, and keeps
// nothing of what it is given.
func PrintableText(w io.Writer) io.Writer {
	return &printableWriter{w: w, replace: func(to []byte, _ rune) []byte { return utf8.AppendRune(to, utf8.RuneError) }}
}

// PrintableJSON returns a writer to w that escapes what is not printable in
// JSON. Such characters can only be within strings, so JSON stays what it was.
// Else it is like PrintableText.
func PrintableJSON(w io.Writer) io.Writer {
	return &printableWriter{w: w, replace: escapeJSON}
}

type printableWriter struct {
	w       io.Writer
	replace func(to []byte, r rune) []byte // appends what stands for r
	begun   []byte                         // of a character that the next Write ends
	buf     []byte
}

// Write writes p whole, or returns why not.
func (p *printableWriter) Write(text []byte) (int, error) {
	out := text
	if len(p.begun) > 0 || !clean(text, true) {
		out = p.printable(append(p.begun, text...))
	}
	if _, err := p.w.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

func (p *printableWriter) printable(text []byte) []byte {
	out := p.buf[:0]
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		if shown(r, true) == r {
			out = utf8.AppendRune(out, r)
		} else {
			out = p.replace(out, r)
		}
		text = text[size:]
	}
	p.begun, p.buf = append([]byte(nil), text...), out
	return out
}

// escapeJSON appends r as JSON writes it in four digits, or twice four.
func escapeJSON(to []byte, r rune) []byte {
	for _, unit := range utf16.AppendRune(nil, r) {
		to = fmt.Appendf(to, `\u%04x`, unit)
	}
	return to
}
