package cuda_test

import (
	"errors"
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
