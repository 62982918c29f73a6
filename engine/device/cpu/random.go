package cpu

import (
	"math"

	"github.com/memtop/memtop/engine/device"
)

// philox returns the four random words of a counter: Philox4x32 with ten
// rounds, after Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011). A counter's words depend on nothing else, so any thread can make
// any part of the sequence.
func philox(seed, counter uint64) [4]uint32 {
	c0, c1, c2, c3 := uint32(counter), uint32(counter>>32), uint32(0), uint32(0)
	k0, k1 := uint32(seed), uint32(seed>>32)
	for range 10 {
		p0, p1 := 0xd2511f53*uint64(c0), 0xcd9e8d57*uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += 0x9e3779b9
		k1 += 0xbb67ae85
	}
	return [4]uint32{c0, c1, c2, c3}
}

// unit makes a number in [0, 1) of 24 random bits.
func unit(word uint32) float64 {
	return float64(word>>8) * 0x1p-24
}

type randomKind uint8

const (
	dropout randomKind = iota
	dropoutGrad
	uniform
	normal
)

// randomJob fills dst, from x for dropout. Parts and runs are multiples of four
// elements, so that each starts at a counter.
type randomJob struct {
	kind         randomKind
	dst, x, mask view
	p, a, b      float64 // probability; low and width, or mean and deviation
	seed         device.Seed
	wide         bool
}

// Dropout implements device.Random.
func (b *Backend) Dropout(y, x, mask device.Array, p float64, s device.Seed) {
	b.drop("dropout", y, x, mask, randomJob{kind: dropout, p: p, seed: s})
}

// DropoutBackward implements device.Random.
func (b *Backend) DropoutBackward(dx, dy, mask device.Array, p float64) {
	b.drop("dropout backward", dx, dy, mask, randomJob{kind: dropoutGrad, p: p})
}

func (b *Backend) drop(name string, dst, x, mask device.Array, j randomJob) {
	device.CheckFloat(name, dst.DType, x.DType)
	device.CheckDropout(name, mask, x.Len, j.p)
	j.dst, j.x, j.mask = b.view(name, "output", dst, x.Len), b.resolve(x), b.resolve(mask)
	j.wide = device.Wide(dst.DType, x.DType)
	b.jobs.random = j
	b.pool.run(&b.jobs.random, parts(x.Len))
}

// Uniform implements device.Random.
func (b *Backend) Uniform(dst device.Array, low, high float64, s device.Seed) {
	b.draw(randomJob{kind: uniform, a: low, b: high - low, seed: s}, dst)
}

// Normal implements device.Random.
func (b *Backend) Normal(dst device.Array, mean, std float64, s device.Seed) {
	b.draw(randomJob{kind: normal, a: mean, b: std, seed: s}, dst)
}

func (b *Backend) draw(j randomJob, dst device.Array) {
	device.CheckFloat("random", dst.DType)
	j.dst, j.wide = b.view("random", "dst", dst, dst.Len), true
	b.jobs.random = j
	b.pool.run(&b.jobs.random, parts(dst.Len))
}

func (j *randomJob) run(w *worker, part int) {
	inType(j.wide, randomPart[float64], randomPart[float32])(w, j, part)
}

func randomPart[T float](w *worker, j *randomJob, part int) {
	runs(part, j.dst.n, func(i, n int) {
		dst := room[T](w, slotA, j.dst, i, n)
		switch j.kind {
		case dropout:
			dropRun(w, j, dst, i)
		case dropoutGrad:
			x, scale := load[T](w, slotB, j.x, i, n), T(1/(1-j.p))
			for k, kept := range slice[uint8](j.mask, i, n) {
				dst[k] = x[k] * scale * T(kept)
			}
		default:
			drawRun(j, dst, i)
		}
		store(j.dst, i, dst)
	})
}

func dropRun[T float](w *worker, j *randomJob, dst []T, i int) {
	x, scale := load[T](w, slotB, j.x, i, len(dst)), T(1/(1-j.p))
	mask := scratch[uint8](w, slotC, len(dst))
	if !j.mask.absent() {
		mask = slice[uint8](j.mask, i, len(dst))
	}
	least := uint32(math.Ceil(j.p * 0x1p24)) // u ≥ p in whole numbers
	for k := 0; k < len(dst); k += 4 {
		words := philox(j.seed.Seed, j.seed.Offset+uint64(i+k)/4)
		for lane := range min(4, len(dst)-k) {
			kept := uint8((least - 1 - words[lane]>>8) >> 31) // without a branch
			mask[k+lane] = kept
			dst[k+lane] = x[k+lane] * scale * T(kept)
		}
	}
}

func drawRun[T float](j *randomJob, dst []T, i int) {
	for k := 0; k < len(dst); k += 4 {
		words := philox(j.seed.Seed, j.seed.Offset+uint64(i+k)/4)
		var numbers [4]float64
		for lane := 0; lane < 4; lane += 2 {
			if j.kind == uniform {
				numbers[lane], numbers[lane+1] = unit(words[lane]), unit(words[lane+1])
			} else {
				numbers[lane], numbers[lane+1] = gaussians(unit(words[lane]), unit(words[lane+1]))
			}
		}
		for lane := range min(4, len(dst)-k) {
			dst[k+lane] = T(j.a + j.b*numbers[lane])
		}
	}
}

// gaussians turns two uniform numbers into two normal ones (Box–Muller).
func gaussians(u1, u2 float64) (float64, float64) {
	radius := math.Sqrt(-2 * math.Log(1-u1))
	sin, cos := math.Sincos(2 * math.Pi * u2)
	return radius * cos, radius * sin
}
