package trace

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// unprintables are characters of each class that text must not have.
var unprintables = map[string]string{
	"C0":            "\x00\x07\x08\x1b\r\x7f",
	"C1":            "\u0080\u0085\u009b\u009f",
	"bidirectional": "\u061c\u200e\u200f\u202a\u202e\u2066\u2069",
	"without width": "\u00ad\u200b\u200d\u2060\ufeff",
	"tags":          "\U000e0001\U000e0020\U000e007f",
	"separators":    "\u00a0\u2028\u2029\u3000",
	"private":       "\ue000\U000f0000\U0010fffd",
	"no characters": "\ufffe\U0001ffff",
}

func TestPrintableOfEveryClass(t *testing.T) {
	for class, chars := range unprintables {
		want := "a" + strings.Repeat("\ufffd", utf8.RuneCountInString(chars)) + "é模"
		text := "a" + chars + "é模"
		if got := Printable(text); got != want {
			t.Errorf("%s: got %q, want %q", class, got, want)
		}
		if got := PrintableLines(text + "\n\t"); got != want+"\n\t" {
			t.Errorf("%s: in lines got %q, want %q", class, got, want)
		}
	}
	if got := Printable("a\n\tb\xff"); got != "a\ufffd\ufffdb\ufffd" {
		t.Errorf("newline, tab and a byte that is no text became %q", got)
	}
}

// randomText is made of all classes, of text, and with broken of bytes that are
// none.
func randomText(r *rand.Rand, broken bool) string {
	pieces := []string{"plain", "é", "模型", "👍", "\n", "\t", "\"", "\\", "\ufffd"}
	for _, chars := range unprintables {
		pieces = append(pieces, chars)
	}
	if broken {
		pieces = append(pieces, "\xff", "\xe6\xa8", "\xf0\x9f", "\xc2")
	}
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// writePieces writes text cut anywhere.
func writePieces(t *testing.T, r *rand.Rand, w interface{ Write([]byte) (int, error) }, text string) {
	t.Helper()
	for len(text) > 0 {
		n := 1 + r.IntN(min(len(text), 7))
		if got, err := w.Write([]byte(text[:n])); got != n || err != nil {
			t.Fatalf("wrote %d of %d bytes: %v", got, n, err)
		}
		text = text[n:]
	}
}

func TestShortenedTextHasWholeCharacters(t *testing.T) {
	tests := map[string]struct {
		text       string
		most       int
		begin, end string
	}{
		"text that fits":                 {"forward", 7, "forward", "forward"},
		"text that is longer":            {"forward", 3, "for…", "…ard"},
		"a cut within a character":       {"a日b", 3, "a…", "…日b"},
		"a cut between characters":       {"a日本", 4, "a日…", "…日本"},
		"nothing fits":                   {"日本", 2, "…", "…本"},
		"bytes that begin no characters": {"\x80\x80\x80\x80\x80\x80\x80", 6, "\x80\x80…", "…\x80\x80\x80\x80\x80\x80\x80"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Shorten(test.text, test.most); got != test.begin {
				t.Errorf("the beginning: got %q, want %q", got, test.begin)
			}
			if got := ShortenPath(test.text, test.most); got != test.end {
				t.Errorf("the end: got %q, want %q", got, test.end)
			}
		})
	}
}

func TestPrintableTextWhereverItIsCut(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := randomText(r, true) + "\n"
		var out strings.Builder
		writePieces(t, r, PrintableText(&out), text)
		if want := PrintableLines(text); out.String() != want {
			t.Fatalf("%q became %q, want %q", text, out.String(), want)
		}
	}
}

// TestPrintableJSONIsTheSameValue reads back keys and values, and the characters
// of which the output consists.
func TestPrintableJSONIsTheSameValue(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		key, value := randomText(r, false), randomText(r, false)
		text, err := json.Marshal(map[string]any{key: []string{value}})
		fatal.If(t, err)
		var out strings.Builder
		writePieces(t, r, PrintableJSON(&out), string(text)+"\n")
		var got map[string][]string
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got[key]) != 1 || got[key][0] != value {
			t.Fatalf("%s became %s: %v", text, out.String(), err)
		}
		if i := strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("%q is not printable at byte %d", out.String(), i)
		}
	}
}

type fullWriter struct{}

var errFull = errors.New("full")

func (fullWriter) Write([]byte) (int, error) { return 0, errFull }

func TestPrintableWritersSayWhatWentWrong(t *testing.T) {
	for _, text := range []string{"plain", "\x1b"} {
		if n, err := PrintableText(fullWriter{}).Write([]byte(text)); n != 0 || !errors.Is(err, errFull) {
			t.Errorf("%q: got %d and %v", text, n, err)
		}
	}
}
