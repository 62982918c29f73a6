package cuda

import (
	"errors"
	"math"
	"time"
)

// Elapsed returns how long the device works on what work queues, by its own
// clock, and the first failure of the queue. It waits for the device.
func (d *Device) Elapsed(work func()) (time.Duration, error) {
	took, err := d.elapsed(func() error { work(); return nil })
	if failed := d.Synchronize(); err == nil {
		err = failed
	}
	return took, err
}

// elapsed is Elapsed for work that fails by itself: it leaves the failure of the
// queue to others.
func (d *Device) elapsed(work func() error) (time.Duration, error) {
	var marks [2]uintptr
	defer func() {
		for _, e := range marks {
			if e != 0 {
				_ = d.in(cuEventDestroy, e) // nothing was done with it that could fail
			}
		}
	}()
	for i := range marks {
		e, err := d.words(cuEventCreate, 0)
		if err != nil {
			return 0, err
		}
		marks[i] = uintptr(e)
	}
	if err := d.in(cuEventRecord, marks[0], d.compute); err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	if err := errors.Join(d.in(cuEventRecord, marks[1], d.compute), d.in(cuEventSynchronize, marks[1])); err != nil {
		return 0, err
	}
	bits, err := d.words(cuEventElapsedTime, marks[0], marks[1])
	milliseconds := math.Float32frombits(uint32(bits))
	return time.Duration(float64(milliseconds) * float64(time.Millisecond)), err
}
