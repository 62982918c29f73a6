package command

import (
	"math"
	"testing"
)

func TestSizesAreReadAndWrittenAlike(t *testing.T) {
	const refused = -1
	for text, want := range map[string]Size{
		"0": 0, "1": 1, "512": 512, "1K": 1 << 10, "1.5g": 3 << 29, "4GiB": 4 << 30, "2 GiB": refused, "1TiB": 1 << 40, "30gib": 30 << 30,
		"NaN": refused, "Inf": refused, "-1": refused, "": refused, "G": refused, "1X": refused, "1KK": refused, "9e30": refused, "1e300T": refused,
	} {
		var s Size
		err := s.Set(text)
		if want == refused {
			if err == nil {
				t.Errorf("Set(%q) took it for %d", text, s)
			}
			continue
		}
		if err != nil || s != want {
			t.Errorf("Set(%q): got %d and %v, want %d", text, s, err, want)
		}
		var again Size
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%q is written %q and read back as %d, %v", text, s.String(), again, err)
		}
	}
	largest := Size(math.MaxInt64)
	if largest.String() == "" {
		t.Error("the largest size cannot be written")
	}
}
