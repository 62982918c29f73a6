package page

import (
	"unicode"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/screen"
)

// HeldLetter stands for memory older than the recording, use unknown.
const HeldLetter = 'H'

// letters stand for categories on terminals without colours. Each is the first
// letter of the name that no earlier category has.
var letters = makeLetters()

// Letter returns the letter of a category.
func Letter(c trace.Category) rune { return letters[c] }

func makeLetters() (all [trace.CategoryCount]rune) {
	taken := map[rune]bool{HeldLetter: true}
	for _, c := range trace.Categories {
		all[c] = '?'
		if c == trace.OtherCategory {
			continue
		}
		for _, r := range c.String() {
			if r = unicode.ToUpper(r); unicode.IsLetter(r) && !taken[r] {
				all[c], taken[r] = r, true
				break
			}
		}
	}
	return all
}

// CategoryTerms explains the letters of categories, if the terminal shows
// letters.
func CategoryTerms(t *screen.Theme) []keys.Term {
	if !t.Letters() {
		return nil
	}
	terms := make([]keys.Term, 0, trace.CategoryCount+1)
	for _, c := range trace.Categories {
		terms = append(terms, keys.Explain(string(Letter(c)), c.String()))
	}
	return append(terms, keys.Explain(string(HeldLetter), "older than the recording, use unknown"))
}
