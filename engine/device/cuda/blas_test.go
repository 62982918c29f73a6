package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device"
)

// columns is a stand-in for cuBLASLt: it multiplies float32 matrices stored by
// columns, using only their descriptors.
type columns struct {
	next    uint64
	objects map[uint64]map[int]uint64 // attributes by descriptor
	refuse  bool                      // it has no algorithm for any product
	chosen  int                       // how often it was asked for an algorithm
	wish    map[int]uint64            // what was preferred then
	fails   map[string]int32          // statuses of entry points
	listed  blasHeuristic             // its algorithm
}

// Keys for the values a descriptor is created with, beside the library's own.
const (
	attributeCompute = -1 - iota
	attributeType
	attributeRows
	attributeCols
	attributeLeading
)

func newColumns() *columns { return &columns{next: 100, objects: make(map[uint64]map[int]uint64)} }

func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

func (c *columns) call(s blasSymbol, a ...uintptr) int32 {
	if status := c.fails[s.String()]; status != 0 {
		return status
	}
	switch s {
	case ltCreate, ltPreferenceCreate:
		c.object(a[0], nil)
	case ltDescCreate:
		c.object(a[0], map[int]uint64{attributeCompute: uint64(a[1])})
	case ltLayoutCreate:
		c.object(a[0], map[int]uint64{
			attributeType: uint64(a[1]), attributeRows: uint64(a[2]), attributeCols: uint64(a[3]), attributeLeading: uint64(a[4]), layoutBatch: 1,
		})
	case ltDescSet, ltLayoutSet, ltPreferenceSet:
		v := *(*uint64)(pointer(a[2]))
		if a[3] == 4 {
			v &= math.MaxUint32
		}
		c.objects[uint64(a[0])][int(a[1])] = v
	case ltDestroy, ltDescDestroy, ltLayoutDestroy, ltPreferenceDestroy:
		delete(c.objects, uint64(a[0]))
	case ltVersion:
		return 130205
	case ltHeuristic:
		c.chosen++
		c.wish = c.objects[uint64(a[6])]
		if c.refuse {
			return blasUnsupported
		}
		*(*blasHeuristic)(pointer(a[8])), *(*int32)(pointer(a[9])) = c.listed, 1
	case ltMatmul:
		c.multiply(a, c.objects[uint64(a[1])], *(*float32)(pointer(a[2])), *(*float32)(pointer(a[7])))
	}
	return 0
}

func (c *columns) object(at uintptr, attributes map[int]uint64) {
	c.next++
	if attributes == nil {
		attributes = make(map[int]uint64)
	}
	c.objects[c.next] = attributes
	*(*uint64)(pointer(at)) = c.next
}

// matrix is one of a batch, by columns.
type columnMatrix struct {
	at         uint64
	rows, cols int
	ld         int
	transposed bool
}

func (c *columns) matrix(addr, layout uintptr, i int, op uint64) columnMatrix {
	l := c.objects[uint64(layout)]
	return columnMatrix{
		uint64(addr) + uint64(i)*l[layoutStride]*4, int(l[attributeRows]), int(l[attributeCols]), int(l[attributeLeading]), op == 1,
	}
}

func (m columnMatrix) element(i, j int) *float32 {
	if m.transposed {
		i, j = j, i
	}
	if i >= m.rows || j >= m.cols || m.ld < m.rows {
		panic(fmt.Sprintf("element %d,%d of %+v", i, j, m))
	}
	return (*float32)(pointer(uintptr(m.at) + uintptr(4*(i+j*m.ld))))
}

func (c *columns) multiply(a []uintptr, d map[int]uint64, alpha, beta float32) {
	for i := range int(c.objects[uint64(a[9])][layoutBatch]) {
		x, y, z := c.matrix(a[3], a[4], i, d[descTransA]), c.matrix(a[5], a[6], i, d[descTransB]), c.matrix(a[8], a[9], i, 0)
		k := x.cols
		if x.transposed {
			k = x.rows
		}
		for col := range z.cols {
			if d[descEpilogue] == epilogueSumB {
				total := (*float32)(pointer(uintptr(d[descBias]) + uintptr(4*col)))
				*total = 0
				for l := range k {
					*total += *y.element(l, col)
				}
			}
			for row := range z.rows {
				var sum float64
				for l := range k {
					sum += float64(*x.element(row, l)) * float64(*y.element(l, col))
				}
				v := alpha * float32(sum)
				if beta != 0 {
					v += beta * *z.element(row, col)
				}
				if d[descEpilogue]&epilogueBias != 0 {
					v += *(*float32)(pointer(uintptr(d[descBias]) + uintptr(4*row)))
				}
				if d[descEpilogue]&epilogueReLU != 0 {
					v = max(v, 0)
				}
				*z.element(row, col) = v
			}
		}
	}
}

// floats returns an array of random numbers that stays alive with the slice.
func floats(r *rand.Rand, n int) (device.Array, []float32) {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return device.Array{Addr: uint64(uintptr(unsafe.Pointer(&v[0]))), Len: n}, v
}

func TestTheLibraryMultipliesRowsThoughItStoresColumns(t *testing.T) {
	const m, n, k, batch = 5, 7, 3, 2
	for name, change := range map[string]func(*device.MatMul){
		"as they are":       func(*device.MatMul) {},
		"A transposed":      func(p *device.MatMul) { p.TransA, p.LDA = true, m },
		"B transposed":      func(p *device.MatMul) { p.TransB, p.LDB = true, k },
		"both transposed":   func(p *device.MatMul) { p.TransA, p.LDA, p.TransB, p.LDB = true, m, true, k },
		"added to what was": func(p *device.MatMul) { p.Alpha, p.Beta = 0.5, -2 },
		"rows far apart": func(p *device.MatMul) {
			p.LDA, p.LDB, p.LDC = k+2, n+1, n+3
			p.StrideA, p.StrideB, p.StrideC = 50, 60, 70
		},
		"one B for all":         func(p *device.MatMul) { p.StrideB = 0 },
		"with a bias":           func(p *device.MatMul) { p.Bias = device.Array{Len: n} },
		"one matrix, with bias": func(p *device.MatMul) { p.Batch, p.Bias = 1, device.Array{Len: n} },
		"with sums of A": func(p *device.MatMul) {
			p.Batch, p.TransA, p.LDA, p.SumA = 1, true, m, device.Array{Len: m}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			p := device.MatMul{
				M: m, N: n, K: k, LDA: k, LDB: n, LDC: n, Batch: batch, StrideA: m * k, StrideB: k * n, StrideC: m * n, Alpha: 1,
			}
			change(&p)
			var a, b, c, bias []float32
			p.A, a = floats(r, 200)
			p.B, b = floats(r, 200)
			p.C, c = floats(r, 200)
			if p.Bias.Len > 0 {
				p.Bias, bias = floats(r, n)
			}
			var sums []float32
			if p.SumA.Len > 0 {
				p.SumA, sums = floats(r, m)
			}
			want := byRows(&p, a, b, append([]float32(nil), c...), bias)
			lt, err := newBLAS(newColumns())
			fatal.If(t, err)
			for range 2 { // planned, then from the plan
				copied := append([]float32(nil), c...)
				q := p
				q.C.Addr = uint64(uintptr(unsafe.Pointer(&copied[0])))
				if ok, err := lt.multiply(&q, 0); !ok || err != nil {
					t.Fatalf("%v, %v", ok, err)
				}
				for i := range want {
					if math.Abs(float64(copied[i]-want[i])) > 1e-5 {
						t.Fatalf("element %d is %v, want %v", i, copied[i], want[i])
					}
				}
			}
			for row, got := range sums {
				var sum float32
				for l := range k {
					sum += a[l*m+row]
				}
				if math.Abs(float64(got-sum)) > 1e-5 {
					t.Errorf("row %d of A sums to %v, want %v", row, got, sum)
				}
			}
			fatal.If(t, lt.close())
			if left := lt.library.(*columns).objects; len(left) > 0 {
				t.Errorf("%d descriptors are left", len(left))
			}
		})
	}
}

// byRows is the product as the device package defines it.
func byRows(p *device.MatMul, a, b, c, bias []float32) []float32 {
	for i := range p.Batch {
		for row := range p.M {
			for col := range p.N {
				var sum float64
				for l := range p.K {
					x, y := row*p.LDA+l, l*p.LDB+col
					if p.TransA {
						x = l*p.LDA + row
					}
					if p.TransB {
						y = col*p.LDB + l
					}
					sum += float64(a[i*p.StrideA+x]) * float64(b[i*p.StrideB+y])
				}
				at := i*p.StrideC + row*p.LDC + col
				v := float32(p.Alpha)*float32(sum) + float32(p.Beta)*c[at]
				if bias != nil {
					v += bias[col]
				}
				c[at] = v
			}
		}
	}
	return c
}

func TestAProductIsPlannedOnce(t *testing.T) {
	library := newColumns()
	lt, err := newBLAS(library)
	fatal.If(t, err)
	r := rand.New(rand.NewPCG(1, 1))
	p := device.MatMul{M: 2, N: 2, K: 2, LDA: 2, LDB: 2, LDC: 2, Batch: 1, Alpha: 1}
	p.A, _ = floats(r, 4)
	p.B, _ = floats(r, 4)
	p.C, _ = floats(r, 4)
	allocations := testing.AllocsPerRun(10, func() {
		if ok, err := lt.multiply(&p, 0); !ok || err != nil {
			t.Fatal(ok, err)
		}
	})
	if library.chosen != 1 {
		t.Errorf("an algorithm was asked for %d times", library.chosen)
	}
	// The stand-in's own lists of arguments are not counted.
	if allocations > 1 {
		t.Errorf("%v allocations for a product that is planned", allocations)
	}
}

func TestPartsOfSumsAreNotRounded(t *testing.T) {
	library := newColumns()
	lt, err := newBLAS(library)
	fatal.If(t, err)
	fatal.If(t, lt.try())
	const scheme, computeType = 3, 2 // CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK and CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
	if got, ok := library.wish[scheme]; !ok || got != computeType {
		t.Errorf("sums may be divided by the schemes %#x (given: %v), want %#x", got, ok, computeType)
	}
}

func TestWhatTheLibraryDoesNotKnowIsLeftToTheKernels(t *testing.T) {
	some := func(t device.DType) device.Array { return device.Array{Addr: 512, Len: 4, DType: t} }
	base := device.MatMul{M: 2, N: 2, K: 2, Batch: 1, A: some(device.BFloat16), B: some(device.BFloat16), C: some(device.BFloat16)}
	tests := map[string]struct {
		change func(*device.MatMul)
		known  bool
	}{
		"one type":                    {func(*device.MatMul) {}, true},
		"half precision into float32": {func(p *device.MatMul) { p.C.DType = device.Float32 }, true},
		"operands of two types":       {func(p *device.MatMul) { p.B.DType = device.Float32 }, false},
		"float32 into half precision": {func(p *device.MatMul) { p.A.DType, p.B.DType = device.Float32, device.Float32 }, false},
		"an activation":               {func(p *device.MatMul) { p.Activate = true }, false},
		"GELU by tanh":                {func(p *device.MatMul) { p.Activate, p.Activation = true, device.GELUTanh }, false},
		"the slope of GELU by tanh in odd rows": {func(p *device.MatMul) {
			p.Activate, p.Slope, p.Activation, p.LDC, p.Pre = true, true, device.GELUTanh, 4, some(device.BFloat16)
		}, false},
		"the slope of GELU by tanh": {func(p *device.MatMul) {
			p.Activate, p.Slope, p.Activation, p.LDC, p.Pre = true, true, device.GELUTanh, 8, some(device.BFloat16)
		}, true},
		"the slope of SiLU": {func(p *device.MatMul) {
			p.Activate, p.Slope, p.Activation, p.LDC, p.Pre = true, true, device.SiLU, 8, some(device.BFloat16)
		}, false},
		"ReLU":                             {func(p *device.MatMul) { p.Activate, p.Activation = true, device.ReLU }, true},
		"sums of A":                        {func(p *device.MatMul) { p.TransA, p.SumA = true, some(device.BFloat16) }, true},
		"sums of A of another type":        {func(p *device.MatMul) { p.TransA, p.SumA = true, some(device.Float32) }, false},
		"what comes before the activation": {func(p *device.MatMul) { p.Pre = some(device.BFloat16) }, false},
		"a bias of the result's type":      {func(p *device.MatMul) { p.Bias = some(device.BFloat16) }, true},
		"a bias of another type":           {func(p *device.MatMul) { p.Bias = some(device.Float32) }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := base
			test.change(&p)
			if _, known := new(blas).kindOf(&p); known != test.known {
				t.Errorf("known: %v", known)
			}
		})
	}
	for name, library := range map[string]*columns{
		"no algorithm":         {refuse: true},
		"one for another GPU":  {listed: blasHeuristic{state: blasUnsupported}},
		"one that has no room": {listed: blasHeuristic{workspace: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			library.next, library.objects = 100, make(map[uint64]map[int]uint64)
			lt, err := newBLAS(library)
			fatal.If(t, err)
			for range 2 {
				if ok, err := lt.multiply(&base, 0); ok || err != nil {
					t.Errorf("%v, %v; want that the kernels are asked", ok, err)
				}
			}
			if library.chosen != 1 {
				t.Errorf("asked %d times for what it does not have", library.chosen)
			}
		})
	}
}
