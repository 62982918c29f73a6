package cuda

import "github.com/memtop/memtop/engine/alloc"

// # Work of other libraries
//
// A library that works on the device beside this package, such as one that sums over
// several devices, queues its work on a stream of its own and is ordered with the
// compute stream by events: the host waits for neither.

// Beside is a stream for the work of another library. It belongs to the goroutine of
// the Backend.
type Beside struct {
	device *Device
	stream uintptr
}

// OpenBeside returns a stream, to be closed before the device.
func (d *Device) OpenBeside() (*Beside, error) {
	stream, err := d.words(cuStreamCreate, streamNonBlocking)
	return &Beside{d, uintptr(stream)}, err
}

// Queue calls work with the driver's handle of the stream, so that work can queue
// something on it. That runs after all earlier work of the compute stream, and
// beside its later work. The error is the driver's or that of work.
func (b *Beside) Queue(work func(stream uintptr) error) (*Point, error) {
	d := b.device
	before := d.RecordEvent(ComputeStream)
	err := d.in(cuStreamWaitEvent, b.stream, uintptr(before), 0)
	d.recycle(before) // the stream waits for the point that was recorded, whatever the event is used for next
	if err == nil {
		err = d.Bind(func() error { return work(b.stream) })
	}
	if err != nil {
		return nil, err
	}
	after, err := d.event()
	if err != nil {
		return nil, err
	}
	return &Point{d, uintptr(after)}, d.in(cuEventRecord, uintptr(after), b.stream)
}

// Close waits for the stream's work and ends it.
func (b *Beside) Close() error { return b.device.in(cuStreamDestroy, b.stream) }

// Point is a place in the queue of a stream, after a piece of work.
type Point struct {
	device *Device
	event  uintptr // 0 once it was awaited
}

// Await orders all later work of the compute stream after the point, and does not
// wait for it. It returns the failure of the device, and may be called again.
func (p *Point) Await() error {
	d := p.device
	if p.event == 0 {
		return d.Failed()
	}
	err := d.in(cuStreamWaitEvent, d.compute, p.event, 0)
	d.recycle(alloc.Event(p.event))
	p.event = 0
	return err
}

// Bind calls f on a thread with the device's context, as other libraries want it. It
// returns the error of f, or why there is no context.
func (d *Device) Bind(f func() error) error {
	defer d.leave()
	if err := d.enter(); err != nil {
		return err
	}
	return f()
}

// Fail ends the use of the device: calls that have not returned and all later
// ones fail with err, unless it has failed before. It is for failed work of other
// libraries on which the device's results depend. Safe for concurrent use.
func (d *Device) Fail(err error) { d.failed.CompareAndSwap(nil, &err) }
