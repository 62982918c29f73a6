package cuda_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/device/cuda/cudatest"
)

// steps is a device whose kernel, of whatever name, adds its number of threads to
// the first byte of its result, and a buffer for that.
type steps struct {
	*cuda.Device
	driver *cudatest.Driver
	x      device.Array
}

func openSteps(t *testing.T) *steps {
	t.Helper()
	s := new(steps)
	var d *cuda.Device
	d, s.driver = open(t, cudatest.Options{Run: func(l cudatest.Launched) error {
		*(*byte)(at(binary.LittleEndian.Uint64(l.Args)))++
		return nil
	}})
	s.Device = d
	s.x = device.ArrayOf(buffer(t, d, 64), device.Float32, 16)
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

// TestAGraphThatIsLostTakesTheDevice fails each call that is about graphs.
func TestAGraphThatIsLostTakesTheDevice(t *testing.T) {
	const invalid = 1
	for _, entry := range []string{"cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch"} {
		t.Run(entry, func(t *testing.T) {
			s := openSteps(t)
			s.driver.Fail(entry, 0, invalid)
			s.step(true, 2)
			var e *cuda.Error
			for range 2 {
				if err := s.Synchronize(); !errors.As(err, &e) || e.Call != entry {
					t.Errorf("got %v, want the failure of %s", err, entry)
				}
			}
		})
	}
	t.Run("cuStreamBeginCapture_v2", func(t *testing.T) { // nothing is lost
		s := openSteps(t)
		s.driver.Fail("cuStreamBeginCapture_v2", 0, invalid)
		s.step(true, 2)
		if err := s.Synchronize(); err == nil {
			t.Error("no failure")
		}
		s.step(true, 2)
		if got := s.value(t); got != 2 {
			t.Errorf("the next step made %d", got)
		}
	})
}
