package cuda_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

const mib = 1 << 20

// own is the memory that an open device allocates for its kernels.
const own = kernels.ScratchBytes + kernels.FailureBytes

// open opens the first device of a test's driver and checks at the end that
// everything was released.
func open(t *testing.T, o cudatest.Options) (*cuda.Device, *cudatest.Driver) {
	t.Helper()
	return openWith(t, cuda.Options{}, o)
}

// openWith is open, with options of the device beside its driver.
func openWith(t *testing.T, device cuda.Options, o cudatest.Options) (*cuda.Device, *cudatest.Driver) {
	t.Helper()
	driver := cudatest.New(o)
	device.Driver = driver
	d, err := cuda.Open(device)
	fatal.If(t, err)
	t.Cleanup(func() {
		if err := d.Close(); err != nil && d.Failed() == nil {
			t.Errorf("closing: %v", err)
		}
		if left := driver.Left(); d.Failed() == nil && len(left) > 0 {
			t.Errorf("left behind: %s", strings.Join(left, ", "))
		}
	})
	return d, driver
}

func TestADeviceSaysWhatItIs(t *testing.T) {
	d, _ := open(t, cudatest.Options{Capacity: 512 * mib})
	info := d.Info()
	if info.Name != "Device 0 of a test" || info.Memory != 512*mib || info.Major != 8 || !info.VirtualMemory {
		t.Errorf("%+v", info)
	}
	if d.Name() != "cuda:0" {
		t.Errorf("its name is %q", d.Name())
	}
}

func TestWhatCannotBeOpenedSaysWhy(t *testing.T) {
	tests := map[string]struct {
		options cudatest.Options
		ordinal int
		fail    string
		want    string
	}{
		"a number beyond the last":           {ordinal: 1, want: "there is no device cuda:1"},
		"a GPU that is too old":              {options: cudatest.Options{Major: 7}, want: "compute capability 7.0"},
		"a driver that does not start":       {fail: "cuInit", want: "CUDA_ERROR_OUT_OF_MEMORY"},
		"a GPU that somebody has for itself": {fail: "cuDevicePrimaryCtxRetain", want: "cuda:0 does not start"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			driver := cudatest.New(test.options)
			if test.fail != "" {
				driver.Fail(test.fail, 0, 2)
			}
			_, err := cuda.Open(cuda.Options{Ordinal: test.ordinal, Driver: driver})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v, want one line with %q", err, test.want)
			}
			if !cuda.Unavailable(err) {
				t.Errorf("%v does not say that the device is unavailable", err)
			}
		})
	}
}

func TestOpeningGivesBackWhatItHadWhenItFails(t *testing.T) {
	for _, entry := range []string{"cuStreamCreate", "cuEventCreate", "cuMemHostAlloc", "cuMemAlloc_v2", "cuModuleLoadDataEx"} {
		for after := range 2 {
			driver := cudatest.New(cudatest.Options{})
			driver.Fail(entry, after, 2)
			if d, err := cuda.Open(cuda.Options{Driver: driver}); err == nil {
				_ = d.Close()
			}
			if left := driver.Left(); len(left) > 0 {
				t.Errorf("%s fails after %d: left behind: %s", entry, after, strings.Join(left, ", "))
			}
		}
	}
}

func TestMemoryHasAnEnd(t *testing.T) {
	d, driver := open(t, cudatest.Options{Capacity: own + 64*mib})
	a, err := d.Malloc(40 * mib)
	if err != nil || a%512 != 0 {
		t.Fatalf("%#x, %v", a, err)
	}
	if _, err := d.Malloc(40 * mib); !errors.Is(err, alloc.ErrNoMemory) || !strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY (2)") {
		t.Errorf("%v, want the driver's error for a lack of memory", err)
	}
	if free, total := d.MemInfo(); free != 24*mib || total != own+64*mib {
		t.Errorf("%d free of %d", free, total)
	}
	d.Free(a)
	if driver.Used() != own {
		t.Errorf("%d bytes are in use after all was freed", driver.Used()-own)
	}
}

func TestTheAllocatorWorksOverTheDevice(t *testing.T) {
	for _, config := range []string{"", "expandable_segments:True"} {
		t.Run(config, func(t *testing.T) {
			d, driver := open(t, cudatest.Options{Capacity: own + 256*mib})
			a, err := alloc.New(d, alloc.Options{})
			fatal.If(t, err)
			if err := a.Configure(config); config != "" && err != nil {
				t.Fatal(err)
			}
			asked := driver.Calls("cuMemGetInfo_v2")
			var blocks []alloc.Allocation
			for size := int64(1000); size < 20*mib; size = size*2 + 1 {
				b, err := a.Alloc(size, cuda.ComputeStream, alloc.Tag{})
				fatal.If(t, err)
				blocks = append(blocks, b)
			}
			if n := driver.Calls("cuMemGetInfo_v2"); config == "" && n != asked {
				t.Errorf("the driver was asked %d times what is free, which nothing needs", n-asked)
			}
			if config == "" { // an expandable segment keeps the range it reserved for the request, as PyTorch's does
				if _, err := a.Alloc(280*mib, cuda.ComputeStream, alloc.Tag{}); !errors.Is(err, alloc.ErrNoMemory) {
					t.Errorf("more than there is: %v", err)
				}
			}
			for _, b := range blocks {
				a.Free(b)
			}
			a.EmptyCache()
			if driver.Used() != own {
				t.Errorf("%d bytes are in use after the cache was emptied", driver.Used()-own)
			}
		})
	}
}

func TestABlockThatAnotherStreamUsesIsPendingUntilTheStreamHasPassed(t *testing.T) {
	d, _ := open(t, cudatest.Options{})
	a, err := alloc.New(d, alloc.Options{})
	fatal.If(t, err)
	host := bytes.Repeat([]byte{7}, mib)
	b, err := a.Alloc(mib, cuda.ComputeStream, alloc.Tag{})
	fatal.If(t, err)
	d.Upload(deviceBuffer(b), host) // queued, so that the stream has something before the event
	a.RecordStream(b, cuda.CopyStream)
	a.Free(b)
	if pending := a.Stats(); pending.ActiveBytes.All.Current == 0 {
		t.Error("the block is not pending")
	}
	fatal.If(t, d.Synchronize())
	for range 4 { // each request looks at what is pending
		c, err := a.Alloc(512, cuda.ComputeStream, alloc.Tag{})
		fatal.If(t, err)
		a.Free(c)
	}
	if s := a.Stats(); s.ActiveBytes.All.Current != 0 {
		t.Errorf("%d bytes are still pending", s.ActiveBytes.All.Current)
	}
	a.EmptyCache()
}

func TestMappingFailsWholeOrNotAtAll(t *testing.T) {
	for name, entry := range map[string]string{"no memory": "cuMemCreate", "no mapping": "cuMemMap", "no access": "cuMemSetAccess"} {
		t.Run(name, func(t *testing.T) {
			d, driver := open(t, cudatest.Options{Capacity: own + 64*mib})
			addr, err := d.Reserve(32 * mib)
			fatal.If(t, err)
			driver.Fail(entry, 0, 2)
			if err := d.Map(addr, 20*mib); !errors.Is(err, alloc.ErrNoMemory) {
				t.Errorf("%v, want alloc.ErrNoMemory", err)
			}
			if driver.Used() != own {
				t.Errorf("%d bytes stay mapped", driver.Used()-own)
			}
			if err := d.Map(addr, 20*mib); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			d.Unmap(addr+4*mib, 2*mib)
			if driver.Used() != own+18*mib {
				t.Errorf("%d bytes after a page was taken away", driver.Used()-own)
			}
			d.Unmap(addr, 20*mib)
			d.Unreserve(addr, 32*mib)
		})
	}
}
