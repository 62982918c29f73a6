package page

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

func TestCategoriesHaveLettersOfTheirOwn(t *testing.T) {
	seen := map[rune]trace.Category{}
	for _, c := range trace.Categories {
		r := Letter(c)
		if other, ok := seen[r]; ok || r == HeldLetter {
			t.Errorf("%v and %v share the letter %c", c, other, r)
		}
		if seen[r] = c; (r == '?') != (c == trace.OtherCategory) {
			t.Errorf("%v has the letter %c", c, r)
		}
	}
}
