package screen

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/memtop/memtop/snapshots/quantity"
)

// Width returns how many cells s takes on a canvas.
func Width(s string) int {
	n := 0
	for _, r := range s {
		_, w := printable(r)
		n += w
	}
	return n
}

// Clean returns s without terminal control characters, for text that does not go
// through a canvas.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		r, w := printable(r)
		if w == 0 {
			return -1
		}
		return r
	}, s)
}

// Truncate cuts plain text to w cells and marks a cut with an ellipsis.
func Truncate(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if len(s) <= w || Width(s) <= w {
		return s
	}
	n := 0
	for i, r := range s {
		_, rw := printable(r)
		if n+rw > w-1 {
			return s[:i] + "…"
		}
		n += rw
	}
	return s
}

// TruncateLeft cuts plain text to w cells from the left, for paths, whose end
// matters more than their beginning.
func TruncateLeft(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if len(s) <= w || Width(s) <= w {
		return s
	}
	n, i := 0, len(s)
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		_, rw := printable(r)
		if n+rw > w-1 {
			break
		}
		n, i = n+rw, i-size
	}
	return "…" + s[i:]
}

// asciiFor gives the substitutes for characters that a plain terminal lacks.
var asciiFor = map[rune]byte{
	'─': '-', '│': '|', '┄': '-', '┊': ':', '═': '=', '└': '`', '├': '|', '⋮': ':', '┤': '|', '┬': '+', '┴': '+', '┼': '+', '╌': '-',
	'┌': '+', '┐': '+', '┘': '+', '…': '~', '▸': '>', '▾': 'v', '▲': '^', '▼': 'v', '◆': '*', '●': '*', '•': '*', '○': 'o', '·': '.', '–': '-', '—': '-',
	'→': '>', '←': '<', '↑': '^', '↓': 'v', '×': 'x', '≥': '>', '≤': '<', '█': '#', '▓': '%', '▒': ':', '░': '.', '▌': '#', '▐': '#',
	'▁': '_', '▂': '.', '▃': ':', '▄': '-', '▅': '=', '▆': '+', '▇': '*', '▏': '|', '▎': '|', '▍': '|', '▋': '#', '▊': '#', '▉': '#',
	'▪': 'o', '▀': '"', '√': '/', '∑': 'S', 'Δ': 'd', '⚠': '!', '’': '\'', '“': '"', '”': '"', '⏎': '>', '✗': 'X', 'µ': 'u', '±': '~',
}

func writeASCII(b *strings.Builder, r rune) {
	c, ok := asciiFor[r]
	if !ok {
		c = '?'
	}
	b.WriteByte(c)
	if _, w := printable(r); w == 2 {
		b.WriteByte(' ')
	}
}

// BytesWidth is how many cells the longest size takes.
const BytesWidth = 10

// Bytes writes a size as everywhere in memtop, like "1.5 GiB".
func Bytes(n int64) string { return quantity.Bytes(n) }

// Count writes n with a comma between thousands.
func Count(n int) string { return quantity.Count(n) }

// Plural writes n things by the name of one.
func Plural(n int, one string) string { return quantity.Plural(n, one) }

// Percent writes part of whole as a percentage, at most six cells wide.
func Percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	share := 100 * float64(part) / float64(whole)
	return strconv.FormatFloat(share, 'f', 1, 64) + "%"
}

// Micros writes a duration of so many microseconds with a fitting unit.
func Micros(us int64) string {
	abs := us
	if abs < 0 {
		abs = -abs
	}
	switch {
	case abs < 1000:
		return strconv.FormatInt(us, 10) + " µs"
	case abs < 1_000_000:
		return strconv.FormatFloat(float64(us)/1e3, 'f', 1, 64) + " ms"
	case abs < 600_000_000:
		return strconv.FormatFloat(float64(us)/1e6, 'f', 3, 64) + " s"
	default:
		return strconv.FormatFloat(float64(us)/60e6, 'f', 1, 64) + " min"
	}
}

// Address writes an address in hexadecimal.
func Address(a uint64) string { return "0x" + strconv.FormatUint(a, 16) }

// Wrap breaks text at spaces into lines of at most w cells, and words that are
// longer wherever a line ends. A line has at least one character.
func Wrap(text string, w int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		for end := lineEnd(word, w); end < len(word); end = lineEnd(word, w) {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			lines, word = append(lines, word[:end]), word[end:]
		}
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= w:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// lineEnd returns how many bytes of a word fit into w cells, at least one
// character's: what is broken there gets shorter each time.
func lineEnd(word string, w int) int {
	cells := 0
	for i, r := range word {
		_, rw := printable(r)
		if cells += rw; cells > w && i > 0 {
			return i
		}
	}
	return len(word)
}
