package cpu

import (
	"fmt"
	"math"
	"testing"

	"github.com/memtop/memtop/engine/device"
)

func TestPhiloxGivesThePublishedNumbers(t *testing.T) {
	// The known answers of the Random123 distribution whose upper counter is 0.
	if got, want := philox(0, 0), [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}; got != want {
		t.Errorf("key 0, counter 0: got %#x, want %#x", got, want)
	}
}

func TestDropoutKeepsAndScales(t *testing.T) {
	for _, kind := range floats {
		for _, n := range []int{1, 5, 100003} {
			t.Run(fmt.Sprintf("%v, %d", kind, n), func(t *testing.T) {
				r := newRig(t, 2)
				x, y, mask := r.normals(kind, n), r.array(kind, n), r.array(device.UInt8, n)
				seed := device.Seed{Seed: 5, Offset: 1 << 40}
				r.Dropout(y, x, mask, 0.25, seed)
				kept := r.get(mask)
				want := r.get(x)
				for i := range want {
					word := philox(seed.Seed, seed.Offset+uint64(i/4))[i%4]
					if (unit(word) >= 0.25) != (kept[i] == 1) {
						t.Fatalf("element %d: mask %v, number %v", i, kept[i], unit(word))
					}
					want[i] *= kept[i] / 0.75
				}
				near(t, "y", r.get(y), want, tolerance(kind))
				if share := weighted(kept, ones(n)) / float64(n); n > 1000 && math.Abs(share-0.75) > 0.01 {
					t.Errorf("kept %v of the elements", share)
				}

				dx, again := r.array(kind, n), r.array(kind, n)
				r.DropoutBackward(dx, x, mask, 0.25)
				r.Dropout(again, x, device.Array{}, 0.25, seed)
				near(t, "backward by the mask", r.get(dx), r.get(y), 0)
				near(t, "backward by the seed", r.get(again), r.get(y), 0)
				r.Dropout(x, x, device.Array{}, 0.25, seed)
				near(t, "in place", r.get(x), r.get(y), 0)
			})
		}
	}
}

func TestDropoutWithProbabilityZeroChangesNothing(t *testing.T) {
	r := newRig(t, 1)
	x, y := r.normals(device.Float32, 1000), r.array(device.Float32, 1000)
	r.Dropout(y, x, device.Array{}, 0, device.Seed{})
	near(t, "y", r.get(y), r.get(x), 0)
}

func TestUniformAndNormalHaveTheirMoments(t *testing.T) {
	r := newRig(t, 2)
	const n = 200003
	tests := map[string]struct {
		draw            func(a device.Array)
		mean, deviation float64
	}{
		"uniform": {func(a device.Array) { r.Uniform(a, -1, 3, device.Seed{Seed: 1}) }, 1, 4 / math.Sqrt(12)},
		"normal":  {func(a device.Array) { r.Normal(a, 2, 0.5, device.Seed{Seed: 2}) }, 2, 0.5},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := r.array(device.Float32, n)
			test.draw(a)
			x := r.get(a)
			mean := weighted(x, ones(n)) / n
			spread := math.Sqrt(weighted(x, x)/n - mean*mean)
			if math.Abs(mean-test.mean) > 0.01 || math.Abs(spread-test.deviation) > 0.01 {
				t.Errorf("mean %v and deviation %v, want %v and %v", mean, spread, test.mean, test.deviation)
			}
		})
	}
}
