package trace

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns s safe to show on a terminal. A trace's strings come from a
// file or a peer and may hold escape sequences; every control character, and
// every byte that is not UTF-8, becomes the replacement character.
func Printable(s string) string {
	if clean(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

func clean(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
