package cuda

import (
	"slices"

	"github.com/memtop/memtop/engine/device"
)

// kept is a call that a capture holds, so that it can be made again.
type kept struct {
	symbol    Symbol
	words     []uintptr
	arguments []byte         // of a kernel, whose last word says where they were
	product   *device.MatMul // of the library instead of the driver; nil is none
}

// keepCall keeps a call of the driver that was captured. It is called with mu held.
func (d *Device) keepCall(s Symbol, words []uintptr) {
	if !d.graphs.capturing {
		return
	}
	k := d.graphs.keepNext()
	k.symbol, k.product, k.words, k.arguments = s, nil, append(k.words[:0], words...), k.arguments[:0]
	if s == cuLaunchKernel {
		k.arguments = append(k.arguments, d.launchCall.arguments()...)
	}
}

// keepProduct keeps a product of the library. It is called with mu held.
func (d *Device) keepProduct(m *device.MatMul) {
	if d.graphs.capturing {
		product := *m
		d.graphs.keepNext().product = &product
	}
}

// keepNext returns the next place, whose memory is that of an earlier step.
func (g *graphs) keepNext() *kept {
	n := len(g.kept)
	g.kept = slices.Grow(g.kept, 1)[:n+1]
	return &g.kept[n]
}

// queueKept makes the calls of a capture again, in their order. It is called with mu
// held and the device's context.
func (d *Device) queueKept() error {
	for i := range d.graphs.kept {
		if err := d.note(d.makeAgain(&d.graphs.kept[i])); err != nil {
			return err
		}
	}
	return nil
}

func (d *Device) makeAgain(k *kept) error {
	if k.product != nil {
		_, err := d.blas.multiply(k.product, d.compute)
		return err
	}
	if k.symbol == cuLaunchKernel {
		// The queue's own may be in use: any thread may end a capture.
		c := &d.graphs.launchCall
		k.words[len(k.words)-1] = c.take(k.arguments)
	}
	return d.do(k.symbol, k.words...)
}
