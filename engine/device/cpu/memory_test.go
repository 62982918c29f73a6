package cpu

import (
	"errors"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
)

const mib = 1 << 20

func open(t testing.TB, o Options) *Device {
	t.Helper()
	d, err := Open(o)
	fatal.If(t, err)
	t.Cleanup(func() {
		fatal.If(t, d.Close())
	})
	return d
}

func TestMallocTakesTheLowestPlaceThatFits(t *testing.T) {
	d := open(t, Options{Capacity: 16 * mib, Threads: 1})
	var at []uint64
	for _, size := range []int64{2 * mib, 1, 4 * mib, 2 * mib} {
		addr, err := d.Malloc(size)
		fatal.If(t, err)
		at = append(at, addr-d.address(0))
	}
	for i, want := range []uint64{0, 2 * mib, 4 * mib, 8 * mib} {
		if at[i] != want {
			t.Errorf("segment %d is at offset %d, want %d", i, at[i], want)
		}
	}
	d.Free(d.address(2 * mib))
	d.Free(d.address(4 * mib))
	for _, want := range []int64{2 * mib, 10 * mib} {
		addr, err := d.Malloc(6 * mib)
		if err != nil || addr != d.address(want) {
			t.Errorf("got %#x, %v, want %#x", addr, err, d.address(want))
		}
	}
}

func TestTheSameRequestsGetTheSameAddressesAgain(t *testing.T) {
	addresses := func() [3]uint64 {
		d, err := Open(Options{Capacity: 8 * mib})
		fatal.If(t, err)
		a, _ := d.Malloc(3 * mib)
		b, _ := d.Malloc(2 * mib)
		c, _ := d.Reserve(9 * mib)
		fatal.If(t, d.Close())
		return [3]uint64{a, b, c}
	}
	if first, second := addresses(), addresses(); first != second {
		t.Errorf("first %#x, then %#x", first, second)
	}
}

func TestMemoryBeyondTheCapacityIsRefused(t *testing.T) {
	tests := map[string]struct {
		take func(d *Device) error
	}{
		"by one request": {func(d *Device) error {
			_, err := d.Malloc(8*mib + 1)
			return err
		}},
		"by the sum of requests": {func(d *Device) error {
			if _, err := d.Malloc(7 * mib); err != nil {
				return err
			}
			_, err := d.Malloc(1)
			return err
		}},
		"by the place between segments": {func(d *Device) error {
			for range 4 {
				if _, err := d.Malloc(2 * mib); err != nil {
					return err
				}
			}
			d.Free(d.address(0))
			d.Free(d.address(4 * mib))
			_, err := d.Malloc(4 * mib)
			return err
		}},
		"by mapping": {func(d *Device) error {
			addr, err := d.Reserve(64 * mib)
			fatal.If(t, err)
			fatal.If(t, d.Map(addr, 8*mib))
			return d.Map(addr+8*mib, 2*mib)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := open(t, Options{Capacity: 8 * mib, Threads: 1})
			if err := test.take(d); !errors.Is(err, alloc.ErrNoMemory) {
				t.Errorf("got %v, want alloc.ErrNoMemory", err)
			}
		})
	}
}

func TestMemInfoCountsSegmentsAndMappings(t *testing.T) {
	d := open(t, Options{Capacity: 16 * mib, Threads: 1})
	want := func(when string, free int64) {
		t.Helper()
		if got, total := d.MemInfo(); got != free || total != 16*mib {
			t.Errorf("%s: %d of %d bytes free, want %d of %d", when, got, total, free, 16*mib)
		}
	}
	a, _ := d.Malloc(3 * mib)
	want("after a request of 3 MiB", 12*mib)
	r, _ := d.Reserve(32 * mib)
	want("after reserving", 12*mib)
	fatal.If(t, d.Map(r+2*mib, 6*mib))
	want("after mapping 6 MiB", 6*mib)
	d.Unmap(r+4*mib, 2*mib)
	want("after unmapping 2 MiB of them", 8*mib)
	d.Free(a)
	want("after the free", 12*mib)
	d.Unreserve(r, 32*mib)
	want("after giving the range back", 16*mib)
}

func TestFreshMemoryIsZeroAlsoWhenItWasUsedBefore(t *testing.T) {
	d := open(t, Options{Capacity: 2 * mib, Threads: 1})
	for range 2 {
		addr, err := d.Malloc(2 * mib)
		fatal.If(t, err)
		bytes := d.bytes("test", device.Buffer{Addr: addr, Bytes: 2 * mib}, 2*mib)
		for i := 0; i < len(bytes); i += 4096 {
			if bytes[i] != 0 {
				t.Fatalf("byte %d is %d", i, bytes[i])
			}
			bytes[i] = 1
		}
		d.Free(addr)
	}
}

func TestUseAfterFreePanicsAndSaysSo(t *testing.T) {
	tests := map[string]struct {
		use  func(d *Device, a device.Array)
		want string
	}{
		"seen before the operation": {func(d *Device, a device.Array) {
			d.Free(a.Addr)
			d.Fill(a, 1)
		}, "no memory there"},
		"part of the array is beyond its segment": {func(d *Device, a device.Array) {
			a.Len++
			d.Fill(a, 1)
		}, "no memory there"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := open(t, Options{Capacity: 4 * mib, Threads: 2})
			addr, err := d.Malloc(2 * mib)
			fatal.If(t, err)
			defer func() {
				message, _ := recover().(string)
				if !strings.Contains(message, test.want) {
					t.Errorf("panicked with %q, want something about %q", message, test.want)
				}
			}()
			test.use(d, device.Array{Addr: addr, Len: 2 * mib / 4, DType: device.Float32})
		})
	}
}
