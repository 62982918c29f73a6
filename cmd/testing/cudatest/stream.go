package cudatest

import (
	"fmt"

	"github.com/memtop/memtop/engine/device/cuda"
)

// stream is a queue of work that has not run yet.
type stream struct {
	driver *Driver
	work   []func() cuda.Result
	done   int // pieces of work that have run, since the beginning
	use    Use
}

// Use is what was queued on a stream, since the beginning, and how much of it waits.
type Use struct {
	Kernels          int
	ToHost, ToDevice int64 // bytes
	Waiting          int   // pieces of work
}

// Streams returns the use of every stream.
func (d *Driver) Streams() (list []Use) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.streams {
		s.use.Waiting = len(s.work)
		list = append(list, s.use)
	}
	return list
}

// mostQueued is how much work waits before the oldest runs by itself, as on a
// device.
const mostQueued = 256

// push queues work.
func (s *stream) push(work func() cuda.Result) cuda.Result {
	s.work = append(s.work, work)
	if len(s.work) > mostQueued {
		return s.run(s.done + len(s.work)/2)
	}
	return success
}

// Queue queues the work of a library that is not the driver, in the order of a stream
// that the caller got as the driver's handle. While it runs, the driver serves no call.
func (d *Driver) Queue(handle uintptr, work func() cuda.Result) cuda.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stream(handle).push(work)
}

// Wrote says that work of Queue, which calls it while it runs, has written memory.
func (d *Driver) Wrote(addr uintptr, n int) { d.machine.Memory.Copied(d.onDevice(addr, n), nil) }

// run runs the work up to a number of pieces in all, -1 for all of it. A failure
// ends the context.
func (s *stream) run(until int) cuda.Result {
	for len(s.work) > 0 && (until < 0 || s.done < until) {
		work := s.work[0]
		s.work = s.work[1:]
		s.done++
		if r := work(); r != success {
			s.driver.dead = r
			return r
		}
	}
	return success
}

// event is a point in a stream's queue.
type event struct {
	stream *stream // nil before it is recorded
	at     int
}

func (e *event) passed() bool { return e.stream == nil || e.stream.done >= e.at }

func (e *event) wait() cuda.Result {
	if e.passed() {
		return success
	}
	return e.stream.run(e.at)
}

func (d *Driver) stream(handle uintptr) *stream {
	s, ok := d.streams[uint64(handle)]
	if !ok {
		panic(fmt.Sprintf("cudatest: %#x is not a stream", handle))
	}
	return s
}

func (d *Driver) event(handle uintptr) *event {
	e, ok := d.events[uint64(handle)]
	if !ok {
		panic(fmt.Sprintf("cudatest: %#x is not an event", handle))
	}
	return e
}

// runAll runs the work of all streams. They depend on each other only through
// events, which run the work they wait for.
func (d *Driver) runAll() cuda.Result {
	for _, s := range d.streams {
		if r := s.run(-1); r != success {
			return r
		}
	}
	return success
}

func (d *Driver) streamCreate(a []uintptr) cuda.Result {
	h := d.handle()
	d.streams[h] = &stream{driver: d}
	put64(a[0], h)
	return success
}

func (d *Driver) streamDestroy(a []uintptr) cuda.Result {
	r := d.stream(a[0]).run(-1)
	delete(d.streams, uint64(a[0]))
	return r
}

func (d *Driver) streamWait(a []uintptr) cuda.Result {
	e, s := *d.event(a[1]), d.stream(a[0]) // as it was recorded last
	return s.push(e.wait)
}

func (d *Driver) eventCreate(a []uintptr) cuda.Result {
	h := d.handle()
	d.events[h] = new(event)
	put64(a[0], h)
	return success
}

func (d *Driver) eventRecord(a []uintptr) cuda.Result {
	e, s := d.event(a[0]), d.stream(a[1])
	e.stream, e.at = s, s.done+len(s.work)+1
	return s.push(func() cuda.Result { return success })
}

// eventQuery runs one piece of work, so that a caller that asks repeatedly gets
// there.
func (d *Driver) eventQuery(a []uintptr) cuda.Result {
	e := d.event(a[0])
	if e.passed() {
		return success
	}
	if r := e.stream.run(e.stream.done + 1); r != success {
		return r
	}
	return notReady
}

func (d *Driver) launchKernel(a []uintptr) cuda.Result {
	k, ok := d.kernels[uint64(a[0])]
	if !ok || a[9] != 0 {
		return invalidValue
	}
	l := Launched{Name: k.name, Shared: uint32(a[7])}
	for i := range 3 {
		l.Grid[i], l.Block[i] = uint32(a[1+i]), uint32(a[4+i])
	}
	l.Args = arguments(a[10])
	if l.Block[0]*l.Block[1]*l.Block[2] > 1024 {
		return invalidValue
	}
	d.stream(a[8]).use.Kernels++
	return d.stream(a[8]).push(func() cuda.Result { return d.execute(k, l) })
}

// arguments reads the list of keys and values at the end of a launch's arguments,
// and copies the buffer in it.
func arguments(list uintptr) []byte {
	word := func(i uintptr) uintptr { return *(*uintptr)(at(list + 8*i)) }
	var buffer uintptr
	var size int
	for i := uintptr(0); word(i) != 0; i += 2 {
		switch word(i) {
		case 1:
			buffer = word(i + 1)
		case 2:
			size = int(*(*uintptr)(at(word(i + 1))))
		default:
			panic(fmt.Sprintf("cudatest: launch with the unknown key %d", word(i)))
		}
	}
	return append([]byte(nil), bytesAt(buffer, size)...)
}
