package device

import (
	"math"
	"testing"
)

// nearest finds by search what rounding to nearest even must give: the pattern
// whose value is closest to f, and of two equally close ones the even.
func nearest(f float64, value func(uint16) float32, infinity uint16) uint16 {
	var sign uint16
	if math.Signbit(f) {
		sign, f = 0x8000, -f
	}
	low, high := uint16(0), infinity
	for low < high { // the first pattern whose value is at least f
		middle := low + (high-low)/2
		if float64(value(middle)) < f {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == 0 || float64(value(low)) == f {
		return sign | low
	}
	below := float64(value(low - 1))
	above := float64(value(low))
	if low == infinity { // as if the exponent went on
		above = below + (below - float64(value(low-2)))
	}
	switch {
	case f-below < above-f, f-below == above-f && low&1 == 1:
		return sign | (low - 1)
	}
	return sign | low
}

var halves = map[string]struct {
	widen    func(uint16) float32
	narrow   func(float32) uint16
	infinity uint16
}{
	"bfloat16": {BFloat16ToFloat32, Float32ToBFloat16, 0x7f80},
	"float16":  {Float16ToFloat32, Float32ToFloat16, 0x7c00},
}

func TestEveryHalfPatternSurvivesTheTripThroughFloat32(t *testing.T) {
	for name, half := range halves {
		t.Run(name, func(t *testing.T) {
			for i := range 1 << 16 {
				bits := uint16(i)
				f := half.widen(bits)
				want := bits
				if bits&0x7fff > half.infinity {
					if f == f {
						t.Fatalf("pattern %#04x is a NaN, got %v", bits, f)
					}
					want = half.narrow(f) | bits // quiet, payload kept
				}
				if got := half.narrow(f); got != want {
					t.Fatalf("pattern %#04x: came back as %#04x through %v", bits, got, f)
				}
			}
		})
	}
}

func TestFloat16ValuesFollowTheDefinition(t *testing.T) {
	for i := range 1 << 16 {
		exponent, fraction := i>>10&0x1f, i&0x3ff
		want := math.Ldexp(float64(1024+fraction), exponent-25)
		switch exponent {
		case 0:
			want = math.Ldexp(float64(fraction), -24)
		case 31:
			continue // infinities and NaNs, tested above
		}
		if i&0x8000 != 0 {
			want = -want
		}
		if got := float64(Float16ToFloat32(uint16(i))); got != want {
			t.Fatalf("pattern %#04x: got %v, want %v", i, got, want)
		}
	}
}

func TestNarrowingRoundsToNearestEven(t *testing.T) {
	for name, half := range halves {
		t.Run(name, func(t *testing.T) {
			// At every pattern: its value, and half way to the next, just below, at and above.
			for i := range int(half.infinity) {
				from, to := float64(half.widen(uint16(i))), float64(half.widen(uint16(i+1)))
				if math.IsInf(to, 0) {
					to = 2*from - float64(half.widen(uint16(i-1)))
				}
				middle := float32(from/2 + to/2)
				for _, f := range []float32{
					float32(from), math.Nextafter32(float32(from), math.MaxFloat32),
					math.Nextafter32(middle, 0), middle, math.Nextafter32(middle, math.MaxFloat32),
				} {
					for _, f := range []float32{f, -f} {
						if got, want := half.narrow(f), nearest(float64(f), half.widen, half.infinity); got != want {
							t.Fatalf("%v (%#08x): got %#04x, want %#04x", f, math.Float32bits(f), got, want)
						}
					}
				}
			}
		})
	}
}

func TestQuantisationMapsAreAscendingAndHoldZeroAndOne(t *testing.T) {
	tests := map[string]struct {
		signed      bool
		zero        int
		first, last float32
	}{
		"signed":   {true, ZeroM, -0.99296875, 1},
		"unsigned": {false, ZeroV, 0, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			values := QuantMap(test.signed)
			for i := 1; i < len(values); i++ {
				if values[i] <= values[i-1] {
					t.Errorf("value %d is %v after %v", i, values[i], values[i-1])
				}
			}
			if values[test.zero] != 0 || values[0] != test.first || values[255] != test.last {
				t.Errorf("got first %v, zero %v, last %v", values[0], values[test.zero], values[255])
			}
		})
	}
}
