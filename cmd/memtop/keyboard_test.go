package main

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// TestAPastedMegabyteIsEndedByCtrlC pastes random bytes, of which every key that
// memtop knows is one, and wants it to be there afterwards.
func TestAPastedMegabyteIsEndedByCtrlC(t *testing.T) {
	random := make([]byte, 1<<20)
	source := rand.NewChaCha8([32]byte{25})
	_, _ = source.Read(random) // never fails
	random = bytes.ReplaceAll(random, []byte{3}, nil)
	random = bytes.ReplaceAll(random, []byte(ansi.BracketedPasteEnd), nil)
	for name, test := range map[string]struct{ before, paste, keys, shown string }{
		"with marks":               {"", ansi.BracketedPasteStart + string(random) + ansi.BracketedPasteEnd, "?", "Keys and signs"},
		"with marks into a search": {"7/", ansi.BracketedPasteStart + "soft\x03max" + ansi.BracketedPasteEnd, "", "search softmax"},
		"without marks":            {"", string(random), "", ""},
		"of a key without marks":   {"7", strings.Repeat("j", 1<<20), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := openScreen(t, 80, 24, "open", sampleFile(t, "paste.pickle", 3))
			s.see("device 0")
			s.paste(test.before + test.paste + test.keys)
			s.see(test.shown)
			s.press("\x03")
			s.leave(130)
		})
	}
}

// paste types much, which a program that does not read keeps from ending.
func (s session) paste(text string) {
	s.t.Helper()
	written := make(chan error, 1)
	go func() { written <- s.Press(text) }()
	select {
	case err := <-written:
		if err != nil {
			s.t.Fatal(err)
		}
	case <-time.After(deadline):
		_ = s.Kill()
		s.t.Fatal("the paste is not read")
	}
}
