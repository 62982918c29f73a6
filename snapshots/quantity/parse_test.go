package quantity

import (
	"math"
	"testing"
)

func TestSizesAreReadAndWrittenAlike(t *testing.T) {
	const refused = -1
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "512": 512, "1K": 1 << 10, "1.5g": 3 << 29, "4GiB": 4 << 30, "2 GiB": refused, "1TiB": 1 << 40, "30gib": 30 << 30,
		"NaN": refused, "Inf": refused, "-1": refused, "": refused, "G": refused, "1X": refused, "1KK": refused, "9e30": refused, "1e300T": refused,
	} {
		got, err := ParseBytes(text)
		if want == refused {
			if err == nil {
				t.Errorf("%q is taken for %d", text, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q: got %d and %v, want %d", text, got, err, want)
		}
		if again, err := ParseBytes(Exact(got)); err != nil || again != got {
			t.Errorf("%q is written %q and read back as %d, %v", text, Exact(got), again, err)
		}
	}
	if Exact(math.MaxInt64) == "" {
		t.Error("the largest size cannot be written")
	}
}
