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
// characters that change the writing direction or take no room, and bytes that
// are no text at all. A terminal or an editor would obey or hide such characters,
// so they never leave the program. In text, memtop writes the replacement
// character instead. In JSON it writes the character's escape, so that a reader
// gets the same string.
//
// Code that measures or cuts text makes it printable first, with [Printable]. The
// writers of [PrintableText] and [PrintableJSON] make all other text printable on
// its way out, so that code that prints cannot forget it.

// Printable returns s safe to show on a terminal: every character that is not
// printable, newlines and tabs among them, and every byte that is not UTF-8
// becomes the replacement character.
func Printable(s string) string {
	if clean(s, false) {
		return s
	}
	return strings.Map(func(r rune) rune { return shown(r, false) }, s)
}

// PrintableLines is like Printable, but keeps newlines and tabs, for text that is
// already laid out.
func PrintableLines(s string) string {
	if clean(s, true) {
		return s
	}
	return strings.Map(func(r rune) rune { return shown(r, true) }, s)
}

// shown returns r, or the character that is shown in its place.
func shown(r rune, lines bool) rune {
	if unicode.IsPrint(r) || lines && (r == '\n' || r == '\t') {
		return r
	}
	return utf8.RuneError
}

// Shorten returns text. If text has more than most bytes, it returns the
// beginning with an ellipsis. It cuts no character in two.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return text[:boundary(text, most)] + "…"
}

// ShortenPath is like Shorten, but keeps the end of the text.
func ShortenPath(path string, most int) string {
	if len(path) <= most {
		return path
	}
	return "…" + path[boundary(path, len(path)-most):]
}

// boundary returns the index of the first byte of the character at index at.
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

// PrintableText returns a writer to w that makes text printable as PrintableLines
// does, even if a Write ends within a character. It writes nothing for a
// character that is never completed. The writer is owned by one goroutine, and
// does not keep the slices that it gets.
func PrintableText(w io.Writer) io.Writer {
	return &printableWriter{w: w, replace: func(to []byte, _ rune) []byte { return utf8.AppendRune(to, utf8.RuneError) }}
}

// PrintableJSON returns a writer to w that escapes characters in JSON that are
// not printable. Such characters can only be within strings, so the JSON keeps
// its meaning. Otherwise the writer is like that of PrintableText.
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
