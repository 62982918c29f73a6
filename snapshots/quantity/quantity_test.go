package quantity

import (
	"math"
	"testing"
)

func TestBytesAreWrittenForPeople(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 10240: "10.0 KiB", 1048575: "1.0 MiB",
		100 << 20: "100.0 MiB", -5 << 30: "-5.0 GiB", 1 << 50: "1.0 PiB", 5000 << 50: "4.9 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSizesAreReadAndWrittenAlike(t *testing.T) {
	const refused = -1
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "512": 512, "1K": 1 << 10, "1.5g": 3 << 29, "4GiB": 4 << 30, "2 GiB": refused, "1TiB": 1 << 40, "30gib": 30 << 30, "4Gi": 4 << 30,
		"1.2GB": 1_200_000_000, "1.1gb": 1_100_000_000, "80kB": 80_000, "2MB": 2_000_000, "1TB": 1e12, "512B": 512, "1 GB": refused,
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
