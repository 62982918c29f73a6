package cuda_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
)

// steps is a device whose kernel, of whatever name, adds its number of threads to
// the first byte of its result, and a buffer for that.
type steps struct {
	*cuda.Device
	driver  *cudatest.Driver
	x       device.Array
	notices []string
}

func openSteps(t *testing.T) *steps {
	t.Helper()
	s := new(steps)
	notice := func(line string) { s.notices = append(s.notices, line) }
	s.Device, s.driver = openWith(t, cuda.Options{Notice: notice}, cudatest.Options{Run: func(l cudatest.Launched) error {
		*(*byte)(at(binary.LittleEndian.Uint64(l.Args)))++
		return nil
	}})
	s.x = device.ArrayOf(buffer(t, s.Device, 64), device.Float32, 16)
	return s
}

func at(address uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// step fills n times, as a step of its own.
func (s *steps) step(asGraphs bool, n int) {
	s.BeginStep(asGraphs)
	for range n {
		s.Fill(s.x, 1)
	}
	s.EndStep()
}

// value waits for the device.
func (s *steps) value(t *testing.T) int {
	t.Helper()
	got := make([]byte, 1)
	if err := s.Download(got, s.x.Buffer()); err != nil {
		t.Fatal(err)
	}
	return int(got[0])
}

// counts are how often graphs were launched, made, changed, and not changed
// because they differ.
func (s *steps) counts() string {
	return fmt.Sprintf("%d launched, %d made, %d changes tried",
		s.driver.Calls("cuGraphLaunch"), s.driver.Calls("cuGraphInstantiateWithFlags"), s.driver.Calls("cuGraphExecUpdate_v2"))
}

func TestAStepIsAGraph(t *testing.T) {
	tests := map[string]struct {
		do    func(*testing.T, *steps)
		value int
		want  string
	}{
		"without graphs": {func(_ *testing.T, s *steps) { s.step(false, 3) }, 3, "0 launched, 0 made, 0 changes tried"},
		"with graphs":    {func(_ *testing.T, s *steps) { s.step(true, 3) }, 3, "1 launched, 1 made, 0 changes tried"},
		"steps that are alike": {func(_ *testing.T, s *steps) {
			for range 4 {
				s.step(true, 3)
			}
		}, 12, "4 launched, 1 made, 3 changes tried"},
		"a step that is longer": {func(_ *testing.T, s *steps) {
			s.step(true, 3)
			s.step(true, 5)
			s.step(true, 5)
		}, 13, "3 launched, 2 made, 2 changes tried"},
		"a step of nothing": {func(_ *testing.T, s *steps) { s.step(true, 0) }, 0, "0 launched, 0 made, 0 changes tried"},
		"graphs that are turned off": {func(_ *testing.T, s *steps) {
			s.step(true, 3)
			s.step(false, 3)
			s.step(true, 3)
		}, 9, "2 launched, 2 made, 0 changes tried"},
		"a value that is read in a step": {func(t *testing.T, s *steps) {
			t.Helper()
			for range 2 {
				s.BeginStep(true)
				before := s.value(t)
				s.Fill(s.x, 1)
				s.Fill(s.x, 1)
				if got := s.value(t); got != before+2 {
					t.Errorf("it is %d, want %d", got, before+2)
				}
				s.Fill(s.x, 1)
				s.EndStep()
			}
		}, 6, "4 launched, 2 made, 2 changes tried"},
		"a value that is fetched in a step": {func(t *testing.T, s *steps) {
			t.Helper()
			s.BeginStep(true)
			s.Fill(s.x, 1)
			v := s.Fetch(device.Buffer{Addr: s.x.Addr, Bytes: 1})
			s.Fill(s.x, 1)
			s.EndStep()
			got := make([]byte, 1)
			if err := v.Wait(got); err != nil || got[0] != 1 {
				t.Errorf("it is %d, %v; want 1", got[0], err)
			}
		}, 2, "2 launched, 2 made, 0 changes tried"},
		"memory from the driver, and back": {func(t *testing.T, s *steps) {
			t.Helper()
			s.BeginStep(true)
			s.Fill(s.x, 1)
			addr, err := s.Malloc(4096)
			if err != nil {
				t.Fatal(err)
			}
			s.Fill(device.ArrayOf(device.Buffer{Addr: addr, Bytes: 4096}, device.Float32, 16), 1)
			s.Free(addr)
			s.EndStep()
		}, 1, "2 launched, 2 made, 0 changes tried"},
		"a copy within the device": {func(t *testing.T, s *steps) {
			t.Helper()
			to := buffer(t, s.Device, 64)
			s.BeginStep(true)
			s.Fill(s.x, 1)
			s.Copy(to, s.x.Buffer())
			s.Fill(s.x, 1)
			s.Copy(s.x.Buffer(), to)
			s.EndStep()
		}, 1, "1 launched, 1 made, 0 changes tried"},
		"an event": {func(_ *testing.T, s *steps) {
			s.BeginStep(true)
			s.Fill(s.x, 1)
			s.SyncEvent(s.RecordEvent(cuda.ComputeStream))
			s.Fill(s.x, 1)
			s.EndStep()
		}, 2, "2 launched, 2 made, 0 changes tried"},
		"an upload": {func(_ *testing.T, s *steps) {
			s.BeginStep(true)
			s.Fill(s.x, 1)
			from := bytes.Repeat([]byte{40}, 64)
			s.Upload(s.x.Buffer(), from)
			clear(from)
			s.Fill(s.x, 1)
			s.EndStep()
		}, 41, "2 launched, 2 made, 0 changes tried"},
		"a step in many pieces": {func(t *testing.T, s *steps) {
			t.Helper()
			s.BeginStep(true)
			for i := range 30 {
				s.Fill(s.x, 1)
				if got := s.value(t); got != i+1 {
					t.Fatalf("it is %d, want %d", got, i+1)
				}
			}
			s.EndStep()
		}, 30, "16 launched, 16 made, 0 changes tried"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := openSteps(t)
			s.Upload(s.x.Buffer(), make([]byte, 64))
			test.do(t, s)
			if got := s.value(t); got != test.value {
				t.Errorf("the value is %d, want %d", got, test.value)
			}
			if got := s.counts(); got != test.want {
				t.Errorf("graphs: %s; want %s", got, test.want)
			}
		})
	}
}

func TestAGraphRunsWhenItIsLaunched(t *testing.T) {
	s := openSteps(t)
	s.BeginStep(true)
	s.Fill(s.x, 1)
	if n := s.driver.Calls("cuGraphLaunch"); n != 0 {
		t.Errorf("%d graphs are launched within the step", n)
	}
	s.EndStep()
	if n := s.driver.Calls("cuGraphLaunch"); n != 1 {
		t.Errorf("%d graphs are launched after it", n)
	}
}

// The results that the driver is made to answer with.
const (
	invalidValue       cuda.Result = 1
	outOfMemory        cuda.Result = 2
	captureInvalidated cuda.Result = 901
	graphUpdateFailed  cuda.Result = 910
	illegalAddress     cuda.Result = 700
)

// TestAStepRunsWhereTheDriverMakesNoGraph fails the calls that make a graph of a step,
// once, after so many steps that have one. Copies and kernels of the step must run once,
// in their order.
func TestAStepRunsWhereTheDriverMakesNoGraph(t *testing.T) {
	const update, instantiate = "cuGraphExecUpdate_v2", "cuGraphInstantiateWithFlags"
	tests := map[string]struct {
		entry  string
		result cuda.Result
		good   int    // steps before it
		want   string // graphs of three more steps
		notice string // empty where the step has a graph in the end
	}{
		"a capture that does not begin":          {"cuStreamBeginCapture_v2", invalidValue, 0, "2 launched, 1 made, 1 changes tried", "cuStreamBeginCapture_v2: CUDA_ERROR_INVALID_VALUE"},
		"a capture that something made invalid":  {"cuStreamEndCapture", captureInvalidated, 0, "2 launched, 1 made, 1 changes tried", "cuStreamEndCapture"},
		"no memory for the first graph":          {instantiate, outOfMemory, 0, "2 launched, 2 made, 1 changes tried", "cuGraphInstantiateWithFlags: CUDA_ERROR_OUT_OF_MEMORY"},
		"a graph that is refused":                {instantiate, invalidValue, 0, "2 launched, 2 made, 1 changes tried", "cuGraphInstantiateWithFlags"},
		"no memory to launch it":                 {"cuGraphLaunch", outOfMemory, 1, "4 launched, 1 made, 3 changes tried", "cuGraphLaunch: CUDA_ERROR_OUT_OF_MEMORY"},
		"a change that is refused":               {update, graphUpdateFailed, 1, "4 launched, 2 made, 3 changes tried", ""},
		"no memory for a change":                 {update, outOfMemory, 1, "4 launched, 2 made, 3 changes tried", ""},
		"a change that is not as it should be":   {update, invalidValue, 1, "4 launched, 2 made, 3 changes tried", ""},
		"a change for the third time, of memory": {update, outOfMemory, 3, "6 launched, 2 made, 5 changes tried", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := openSteps(t)
			s.Fill(s.x, 1) // which loads the kernel
			s.Upload(s.x.Buffer(), make([]byte, 64))
			to, other := buffer(t, s.Device, 64), device.ArrayOf(buffer(t, s.Device, 64), device.Float32, 16)
			s.Upload(other.Buffer(), make([]byte, 64))
			step := func() { // adds 1 to both: the copy back undoes what comes before it
				s.BeginStep(true)
				s.Copy(to, s.x.Buffer())
				s.Fill(s.x, 1)
				s.Fill(s.x, 1)
				s.Copy(s.x.Buffer(), to)
				s.Fill(other, 1)
				s.Fill(s.x, 1)
				s.EndStep()
			}
			for range test.good {
				step()
			}
			s.driver.Fail(test.entry, 0, test.result)
			for range 3 {
				step()
			}
			beside := make([]byte, 1)
			if err := s.Download(beside, other.Buffer()); err != nil || int(beside[0]) != test.good+3 {
				t.Errorf("the other value is %d after %d steps, %v", beside[0], test.good+3, err)
			}
			if got := s.value(t); got != test.good+3 {
				t.Errorf("the value is %d after %d steps", got, test.good+3)
			}
			if got := s.counts(); got != test.want {
				t.Errorf("graphs: %s; want %s", got, test.want)
			}
			said := strings.Join(s.notices, "\n")
			if (said == "") != (test.notice == "") || !strings.Contains(said, test.notice) || strings.Contains(said, "\n") {
				t.Errorf("it says %q, want one line with %q", said, test.notice)
			}
		})
	}
}

// TestADriverThatMakesNoGraphsIsToldOnce has no memory for a graph in any step.
func TestADriverThatMakesNoGraphsIsToldOnce(t *testing.T) {
	s := openSteps(t)
	for range 3 {
		s.driver.Fail("cuGraphInstantiateWithFlags", 0, outOfMemory)
		s.step(true, 2)
	}
	if got := s.value(t); got != 6 {
		t.Errorf("the value is %d, want 6", got)
	}
	if len(s.notices) != 1 {
		t.Errorf("it says %q, want one line", s.notices)
	}
}

// TestAStepThatIsLostTakesTheDevice fails calls so that the work of a step cannot be
// made good.
func TestAStepThatIsLostTakesTheDevice(t *testing.T) {
	tests := map[string]struct {
		fails []string // the last of them is said
		with  cuda.Result
	}{
		"a launch that may have run":                 {[]string{"cuGraphLaunch"}, invalidValue},
		"a fault that ends the context, at its end":  {[]string{"cuStreamEndCapture"}, illegalAddress},
		"a fault that ends the context, at a change": {[]string{"cuGraphExecUpdate_v2"}, illegalAddress},
		"a fault that ends the context, at a launch": {[]string{"cuGraphLaunch"}, illegalAddress},
		"no graph, and then no copy":                 {[]string{"cuGraphInstantiateWithFlags", "cuMemcpyDtoDAsync_v2"}, outOfMemory},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := openSteps(t)
			to := buffer(t, s.Device, 64)
			s.step(true, 3)
			s.BeginStep(true)
			s.Fill(s.x, 1)
			s.Copy(to, s.x.Buffer())
			for _, entry := range test.fails {
				s.driver.Fail(entry, 0, test.with)
			}
			if len(test.fails) > 1 {
				s.Fill(s.x, 1) // another kind of step: a change is refused
			}
			s.EndStep()
			want := test.fails[len(test.fails)-1]
			var e *cuda.Error
			for range 2 {
				if err := s.Synchronize(); !errors.As(err, &e) || e.Call != want {
					t.Errorf("got %v, want the failure of %s", err, want)
				}
			}
		})
	}
}

// TestTheLibraryIsAskedOutsideOfCaptures has a library that chooses no algorithm within
// one. The step that meets a product first goes on without graphs, the next is one.
func TestTheLibraryIsAskedOutsideOfCaptures(t *testing.T) {
	s := openSteps(t)
	products := 0
	s.Find(cuda.StandIn{Path: "libcublasLt.so.13", Captured: s.driver.Capturing, Queue: func(stream uintptr, multiply func()) {
		products++
		s.driver.Queue(stream, "product", func() cuda.Result { multiply(); return 0 })
	}})
	in, out := buffer(t, s.Device, 256), buffer(t, s.Device, 256)
	s.Upload(in, bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, 64)) // ones
	a, c := device.ArrayOf(in, device.Float32, 64), device.ArrayOf(out, device.Float32, 64)
	step := func() {
		s.BeginStep(true)
		s.Fill(s.x, 1)
		s.MatMul(device.MatMul{C: c, A: a, B: a, M: 8, N: 8, K: 8}.Plan())
		s.Fill(s.x, 1)
		s.EndStep()
	}
	check := func(when, want string, queued int) {
		t.Helper()
		got := make([]byte, 4)
		if err := s.Download(got, out); err != nil || !bytes.Equal(got, []byte{0, 0, 0, 0x41}) { // 8
			t.Errorf("%s: the product is %x, %v", when, got, err)
		}
		if got := s.counts(); got != want || products != queued {
			t.Errorf("%s: graphs: %s, %d products; want %s, %d products", when, got, products, want, queued)
		}
	}
	step()
	check("the first step", "1 launched, 1 made, 0 changes tried", 1)
	step()
	check("the second", "2 launched, 2 made, 1 changes tried", 2)
	step()
	check("the third", "3 launched, 2 made, 2 changes tried", 3)
	s.Upload(out, make([]byte, 256))
	s.driver.Fail("cuStreamEndCapture", 0, captureInvalidated)
	step()
	check("a step without its graph", "3 launched, 2 made, 2 changes tried", 5)
	if got, want := s.value(t), 8; got != want {
		t.Errorf("the value is %d, want %d", got, want)
	}
}
