package data

import (
	"math"
	"math/rand/v2"

	"github.com/memtop/memtop/engine/device"
)

// Spirals is a classification of points for small models without convolutions:
// each class is one arm of a spiral in a plane, and the point is shown to the
// model as waves of several lengths. Samples are computed from their numbers.
type Spirals struct {
	Seed     uint64
	Features int // of the input; at least 2
	Classes  int
}

// Len returns the number of samples, which is arbitrary: they are computed.
func (Spirals) Len() int { return 1 << 20 }

// Spec says what the samples are.
func (s Spirals) Spec() Spec {
	return Spec{
		Input:   Field{Shape: []int{s.Features}, DType: device.Float32},
		Target:  Field{DType: device.Int32},
		Classes: s.Classes,
	}
}

// Read computes sample i.
func (s Spirals) Read(i int, into Sample) error {
	r := rand.New(rand.NewPCG(s.Seed, uint64(i)))
	class := r.IntN(s.Classes)
	radius := 0.1 + 0.9*r.Float64()
	angle := 2*math.Pi*(float64(class)/float64(s.Classes)+radius) + 0.1*r.NormFloat64()
	x, y := radius*math.Cos(angle), radius*math.Sin(angle)
	for f := range s.Features {
		v, wave := x, float64(1+f/4)
		if f%2 == 1 {
			v = y
		}
		if f%4 < 2 {
			v = math.Sin(wave * v * math.Pi)
		} else {
			v = math.Cos(wave * v * math.Pi)
		}
		putFloat(into.Input, f, float32(v))
	}
	putInt(into.Target, int32(class))
	return nil
}

// Figures is a classification of pictures for convolutional models: a square
// picture of noise with one figure in it, which is the class: a filled square,
// a ring, a horizontal bar, a vertical bar, a cross, then the same in reverse
// brightness. Samples are computed from their numbers.
type Figures struct {
	Seed     uint64
	Channels int
	Side     int // pixels; at least 8
}

// figureKinds is the number of different figures.
const figureKinds = 10

// Len returns the number of samples, which is arbitrary: they are computed.
func (Figures) Len() int { return 1 << 20 }

// Spec says what the samples are.
func (f Figures) Spec() Spec {
	return Spec{
		Input:   Field{Shape: []int{f.Channels, f.Side, f.Side}, DType: device.Float32},
		Target:  Field{DType: device.Int32},
		Classes: figureKinds,
	}
}

// Read computes sample i.
func (f Figures) Read(i int, into Sample) error {
	r := rand.New(rand.NewPCG(f.Seed, uint64(i)))
	class := r.IntN(figureKinds)
	size := f.Side/4 + r.IntN(f.Side/4)
	left, top := r.IntN(f.Side-size), r.IntN(f.Side-size)
	brightness := float64(1 - 2*(class/5))
	for row := range f.Channels * f.Side {
		y := row%f.Side - top
		for column := range f.Side {
			x, v := column-left, 0.2*r.NormFloat64()
			if x >= 0 && y >= 0 && x < size && y < size && inFigure(class%5, x, y, size) {
				v += brightness
			}
			putFloat(into.Input, row*f.Side+column, float32(v))
		}
	}
	putInt(into.Target, int32(class))
	return nil
}

func inFigure(kind, x, y, size int) bool {
	third := func(v int) bool { return v >= size/3 && v < size-size/3 }
	switch kind {
	case 0:
		return true
	case 1:
		return !third(x) || !third(y)
	case 2:
		return third(y)
	case 3:
		return third(x)
	default:
		return third(x) || third(y)
	}
}
