package tensor

import (
	"slices"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
)

// # Crossing to the host
//
// Every device has a host: the memory of the machine that it is in, as a device
// of its own whose operations are the processor's. A tensor goes there and comes
// back by a copy that runs beside the device's operations. So does what several
// processes divide among them, see "Memory that several processes share".
//
// The caller need not wait for such a copy. Both storages know of it: operations
// that read the copy, or write to the original, run after it; on the device by
// the order of its queue, on the host by waiting. Each direction has a few copies
// under way. They hold handles until later copies begin or [Device.Land] is
// called, on every device alike, so that memory goes up and down in a rehearsal
// as it will on a device that copies later.

// hosted is a backend that can reach its host's memory.
type hosted interface {
	// OpenHost returns that memory and its backend. Closing the device closes both.
	// The caller calls it once.
	OpenHost() (alloc.Driver, device.Backend, error)
}

// Host returns the memory of the device's machine, as a device. The first call
// opens it. It fails when the backend cannot reach the host's memory.
func (d *Device) Host() *Device {
	if d.host == nil {
		d.host = d.openHost()
	}
	return d.host
}

func (d *Device) openHost() *Device {
	driver, backend, err := d.backend.(hosted).OpenHost()
	fail(err, "open the host of %s", d.name)
	memory, err := alloc.New(driver, alloc.Options{Name: "host"})
	fail(err, "open the host of %s", d.name)
	h := NewDevice("host", memory, backend, Options{Poison: d.options.Poison, Unnamed: true})
	h.host = h
	return h
}

// IsHost reports whether the device is the host of another one.
func (d *Device) IsHost() bool { return d.host == d }

// HostMemory returns the allocator of the host, nil while nothing was there.
func (d *Device) HostMemory() *alloc.Allocator {
	if d.host == nil {
		return nil
	}
	return d.host.memory
}

// crossing is a copy under way between a device and its host, or the other
// processes that share what it copies. to is nil after the crossing was released.
type crossing struct {
	to, from *Tensor // handles of its own
	device   *Device
	way      way
	work     device.Crossing
}

// way is the direction of a crossing.
type way uint8

const (
	outward way = iota
	inward
	ways
)

// underWay is how many copies run at once in each direction. A copy to the host
// holds memory of the device.
var underWay = [ways]int{outward: 1, inward: 4}

// To returns t on a device: a further handle when it lies there, contiguous,
// else a contiguous copy with the same label. It does not wait for the copy.
func (t *Tensor) To(d *Device) *Tensor {
	label := t.storage.label
	tag := Tag{Category: label.Category, Layer: label.Layer, Role: label.Role}
	if t.Device() == d {
		return Contiguous(t, tag)
	}
	c := New(d, t.shape, t.dtype, tag)
	copyElements(c, t)
	return c
}

// crossElements copies between devices. It first makes a tensor contiguous on its
// own side.
func crossElements(dst, src *Tensor) {
	tag := Tag{Role: "copy between devices"}
	from := Contiguous(src, tag)
	defer from.Release()
	if dst.Contiguous() {
		cross(dst, from)
		return
	}
	to := New(dst.Device(), dst.shape, dst.dtype, tag)
	defer to.Release()
	cross(to, from)
	copyElements(dst, to)
}

// cross copies contiguous elements between devices.
func cross(to, from *Tensor) {
	a, b := from.Device(), to.Device()
	switch {
	case a.whole != nil || b.whole != nil:
		share(to, from)
	case a == b:
		b.backend.Copy(to.Array().Buffer(), from.Array().Buffer())
	case a.host == b:
		a.crossed[outward] += from.Bytes()
		begin(&crossing{to: to, from: from, device: a, way: outward}, a.backend.Send)
	case b.host == a:
		b.crossed[inward] += from.Bytes()
		begin(&crossing{to: to, from: from, device: b, way: inward}, b.backend.Receive)
	default:
		b.backend.Upload(to.Array().Buffer(), from.Download())
	}
}

// begin begins a copy, after the end of an earlier one if there are enough.
func begin(c *crossing, copying func(dst, src device.Buffer) device.Crossing) {
	list := &c.device.crossings[c.way]
	for len(*list) >= underWay[c.way] {
		(*list)[0].end()
	}
	dst, src := c.to.Array().Buffer(), c.from.Array().Buffer()
	c.to, c.from = c.to.Retain(), c.from.Retain()
	c.work = copying(dst, src)
	c.to.storage.arriving, c.from.storage.leaving = c, c
	*list = append(*list, c)
}

// Crossed returns how many bytes were copied to the host and from it, since the
// beginning. Copies that are under way count.
func (d *Device) Crossed() (toHost, fromHost int64) { return d.crossed[outward], d.crossed[inward] }

// Land waits for the copies between the device and its host that are under way,
// and gives up their handles.
func (d *Device) Land() {
	for _, list := range d.crossings {
		for _, c := range slices.Clone(list) {
			c.end()
		}
	}
}

// precede orders the next operations on one side after the copy. There may be no
// copy.
func (c *crossing) precede(side *Device) {
	switch {
	case c == nil:
	case side != c.device:
		c.end()
	case c.way == outward:
		c.work.Await()
	default:
		c.work.Await()
		c.land()
	}
}

// land releases the copy: all later operations are already ordered after it.
func (c *crossing) land() {
	if c.to != nil {
		c.to.storage.arriving = nil
		c.to.Release()
		c.to = nil
	}
}

// end waits for the copy.
func (c *crossing) end() {
	list := &c.device.crossings[c.way]
	*list = slices.DeleteFunc(*list, func(other *crossing) bool { return other == c })
	doing := c.from.String()
	err := c.work.Wait()
	if c.from.storage.leaving == c {
		c.from.storage.leaving = nil
	}
	c.land()
	c.from.Release()
	fail(err, "copy %s between %s and its host, or other processes", doing, c.device.name)
}
