package cuda_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
)

// product is one of 8×8 matrices in a buffer.
func product(b device.Buffer) device.MatMulPlan {
	x := device.ArrayOf(b, device.Float32, 64)
	return device.MatMul{C: x, A: x, B: x, M: 8, N: 8, K: 8}.Plan()
}

func TestAProductThatTheLibraryFailsIsAFailureOfTheQueue(t *testing.T) {
	const executionFailed = 13
	d, _ := open(t, cudatest.Options{})
	d.Find(cuda.StandIn{Path: "libcublasLt.so.13", Fails: map[string]int32{"cublasLtMatmul": executionFailed}})
	if _, err := d.Library(); err != nil {
		t.Fatal(err)
	}
	d.MatMul(product(buffer(t, d, 256)))
	var status *cuda.BLASError
	if err := d.Synchronize(); !errors.As(err, &status) || status.Status != executionFailed {
		t.Errorf("got %v, want the library's status %d", err, executionFailed)
	}
	if err := d.Synchronize(); err != nil {
		t.Errorf("the failure is returned twice: %v", err)
	}
}

func TestTheFirstLibraryThatStartsMultiplies(t *testing.T) {
	start := map[string]int32{"cublasLtCreate": 1}
	tests := map[string]struct {
		found     []cuda.StandIn
		want, not string // of the line about products
	}{
		"the first":                           {[]cuda.StandIn{{Path: "/a/13"}, {Path: "/b/12"}}, "cuBLASLt 13.2.5 of /a/13", "not"},
		"the second, as the first is refused": {[]cuda.StandIn{{Path: "/a/13", Fails: start}, {Path: "/b/12"}}, "cuBLASLt 13.2.5 of /b/12; not /a/13: cublasLtCreate: status 1", ""},
		"one for this GPU":                    {[]cuda.StandIn{{Path: "/a/13", Refuses: true}, {Path: "/b/12"}}, "of /b/12; not /a/13: it has no product for this GPU", ""},
		"one that loads":                      {[]cuda.StandIn{{Path: "/a/13", Err: errors.New("bad ELF")}, {Path: "/b/12"}}, "of /b/12; not /a/13: bad ELF", ""},
		"none that starts":                    {[]cuda.StandIn{{Path: "/a/13", Fails: start}}, "own, by mma.sync; no cuBLASLt starts: /a/13: cublasLtCreate: status 1", ""},
		"none at all":                         {nil, "own, by mma.sync; there is no cuBLASLt", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, _ := open(t, cudatest.Options{}) // which checks that what is refused leaves nothing behind
			d.Find(test.found...)
			got := d.Products()
			if !strings.Contains(got, test.want) || strings.Contains(got, "\n") || test.not != "" && strings.Contains(got, test.not) {
				t.Errorf("the products are %q, want %q", got, test.want)
			}
			if _, err := d.Library(); (err == nil) != strings.HasPrefix(got, "cuBLASLt") {
				t.Errorf("the products are %q, and of the library it says: %v", got, err)
			}
		})
	}
}

// timedLibrary opens a device with a library whose algorithms take so long, and whose
// products are queued. It returns how often each algorithm has multiplied.
func timedLibrary(t *testing.T, candidates []cuda.Candidate) (*cuda.Device, []int) {
	t.Helper()
	d, driver := open(t, cudatest.Options{})
	ran := make([]int, len(candidates))
	d.Find(cuda.StandIn{
		Path: "libcublasLt.so.13", Candidates: candidates, Captured: driver.Capturing, Ran: func(candidate int) { ran[candidate]++ },
		Queue: func(stream uintptr, multiply func()) {
			driver.Queue(stream, "product", func() cuda.Result { multiply(); return 0 })
		},
	})
	return d, ran
}

func TestTheFastestAlgorithmMultiplies(t *testing.T) {
	const notSupported, mib = 15, 1 << 20
	taking := func(pieces ...int) (list []cuda.Candidate) {
		for _, n := range pieces {
			list = append(list, cuda.Candidate{Pieces: n})
		}
		return list
	}
	tests := map[string]struct {
		candidates []cuda.Candidate
		wanted     string
		first      int // times that the first has multiplied when the product is done
		best       int
	}{
		"one is faster than the first":     {taking(9, 3, 5), "8", 4, 1},
		"the first is the fastest":         {taking(3, 9, 5), "8", 5, 0},
		"one is hardly faster":             {taking(100, 99), "8", 5, 0},
		"the fastest does not run":         {[]cuda.Candidate{{Pieces: 9}, {Pieces: 2, Status: notSupported}, {Pieces: 5}}, "8", 4, 2},
		"the first does not run":           {[]cuda.Candidate{{Pieces: 1, Status: notSupported}, {Pieces: 9}, {Pieces: 5}}, "8", 0, 2},
		"the fastest has no room":          {[]cuda.Candidate{{Pieces: 9}, {Pieces: 2, Workspace: 33 * mib}, {Pieces: 5, Workspace: 8 * mib}}, "8", 4, 2},
		"the fastest is for another GPU":   {[]cuda.Candidate{{Pieces: 9}, {Pieces: 2, State: notSupported}, {Pieces: 5}}, "8", 4, 2},
		"the fastest is the ninth":         {taking(20, 19, 18, 17, 16, 15, 14, 13, 1), "8", 4, 7},
		"the fastest is beyond the wanted": {taking(9, 5, 1), "2", 4, 1},
		"they are not timed":               {taking(9, 3, 5), "", 1, 0},
	}
	for name, test := range tests {
		for _, asGraphs := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, with graphs: %v", name, asGraphs), func(t *testing.T) {
				t.Setenv("MEMTOP_CUDA_CANDIDATES", test.wanted)
				d, ran := timedLibrary(t, test.candidates)
				in, out := buffer(t, d, 256), buffer(t, d, 256)
				d.Upload(in, bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, 64)) // ones
				x, c := device.ArrayOf(in, device.Float32, 64), device.ArrayOf(out, device.Float32, 64)
				step := func(beta float64) {
					t.Helper()
					d.BeginStep(asGraphs)
					d.MatMul(device.MatMul{C: c, A: x, B: x, M: 8, N: 8, K: 8, Beta: beta}.Plan())
					d.EndStep()
				}
				check := func(want byte) {
					t.Helper()
					got := make([]byte, 4)
					if err := d.Download(got, out); err != nil || !bytes.Equal(got, []byte{0, 0, want, 0x41}) {
						t.Errorf("the product is %x, %v", got, err)
					}
				}
				step(0)
				check(0) // 8
				if ran[0] != test.first {
					t.Errorf("the first has multiplied %d times, want %d", ran[0], test.first)
				}
				clear(ran)
				step(0)
				step(1)
				check(0x80) // 16
				for i, n := range ran {
					if want := map[bool]int{true: 2}[i == test.best]; n != want {
						t.Errorf("algorithm %d has multiplied %d times more, want %d", i, n, want)
					}
				}
			})
		}
	}
}

// TestProductsThatCannotBeRepeatedAreNotTimed has products that add to their result, or
// overwrite an operand.
func TestProductsThatCannotBeRepeatedAreNotTimed(t *testing.T) {
	t.Setenv("MEMTOP_CUDA_CANDIDATES", "8")
	d, ran := timedLibrary(t, []cuda.Candidate{{Pieces: 9}, {Pieces: 3}})
	x := device.ArrayOf(buffer(t, d, 256), device.Float32, 64)
	c := device.ArrayOf(buffer(t, d, 256), device.Float32, 64)
	for _, m := range []device.MatMul{{C: c, A: x, B: x, Beta: 1}, {C: c, A: x, B: c}, {C: c, A: c, B: x}} {
		m.M, m.N, m.K = 8, 8, 8
		clear(ran)
		d.MatMul(m.Plan())
		if ran[0] != 1 || ran[1] != 0 {
			t.Errorf("the algorithms have multiplied %v times, want the first once", ran)
		}
	}
	d.MatMul(device.MatMul{C: c, A: x, B: x, M: 8, N: 8, K: 8}.Plan())
	clear(ran)
	d.MatMul(device.MatMul{C: c, A: x, B: x, M: 8, N: 8, K: 8, Beta: 1}.Plan())
	if ran[1] != 1 {
		t.Errorf("the algorithms have multiplied %v times, want the fastest once: it was timed in between", ran)
	}
}

func TestWhatIsWantedOfTheLibraryIsANumber(t *testing.T) {
	for _, v := range []string{"0", "9", "all", "-1"} {
		t.Setenv("MEMTOP_CUDA_CANDIDATES", v)
		if _, err := cuda.Open(cuda.Options{Driver: cudatest.New(cudatest.Options{})}); err == nil || err.Error() != "MEMTOP_CUDA_CANDIDATES="+v+": want 1 to 8" {
			t.Errorf("%s: %v", v, err)
		}
	}
}
