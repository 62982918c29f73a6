package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/device/cuda"
)

// transferred is how many bytes a transfer moves.
const transferred = 64 << 20

// checker has a session and the means to multiply.
type checker struct {
	session session
	means   []means
	close   func()
}

// means is one way to multiply: a device that has it.
type means struct {
	name   string
	says   string // how the device's word on products begins
	wgmma  string // the setting; empty where the library multiplies
	device *cuda.Device
}

// missing says that products are done otherwise; nil if they are not.
func (m *means) missing() error {
	if says := m.device.Products(); !strings.HasPrefix(says, m.says) {
		return fmt.Errorf("products are %s", says)
	}
	return nil
}

// step is one line of the table.
type step struct {
	name  string
	trial *trial // nil for a transfer
	try   func() verdict
}

// open opens the device once for each of the means to multiply.
func open(o cuda.Options) (*checker, error) {
	c := &checker{close: func() {}}
	c.session.reference, c.session.repeats, c.session.act = &reference{}, 200, func(t *trial) { c.session.do(t) }
	var closers []func() error
	c.close = func() {
		for _, f := range closers {
			_ = f() // all that matters was reported
		}
	}
	for _, m := range []means{
		{name: "cuBLASLt", says: "cuBLASLt"},
		{name: "wgmma", says: "own, by wgmma", wgmma: "on"},
		{name: "own for all devices", says: "own, by mma.sync", wgmma: "off"},
	} {
		d, err := openMeans(o, m.wgmma)
		if err != nil {
			c.close()
			return nil, err
		}
		closers = append([]func() error{d.Close}, closers...)
		if c.session.device == nil {
			c.session.device = d
		}
		m.device = d
		c.means = append(c.means, m)
	}
	host, err := cpu.Open(cpu.Options{Capacity: cpu.HostMemory()})
	if err == nil {
		c.session.reference.Device = host
		closers = append(closers, host.Close)
		c.session.pinned, _, err = c.session.device.OpenHost()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// openMeans opens the device so that it multiplies in one way.
func openMeans(o cuda.Options, wgmma string) (*cuda.Device, error) {
	const variable = "MEMTOP_CUDA_WGMMA"
	if before, ok := os.LookupEnv(variable); ok {
		defer func() { _ = os.Setenv(variable, before) }()
	} else {
		defer func() { _ = os.Unsetenv(variable) }()
	}
	if err := os.Setenv(variable, wgmma); err != nil {
		return nil, err
	}
	o.OwnProducts = wgmma != ""
	return cuda.Open(o)
}

// steps are all trials and transfers.
func (c *checker) steps(s shapes) (list []step) {
	for _, t := range transfers {
		list = append(list, step{name: t.operation, try: func() verdict {
			took, err := c.session.tryTransfer(t, min(transferred, 4*s.tokens()*s.hidden))
			return verdict{err: err, skipped: errors.Is(err, alloc.ErrNoMemory), time: took}
		}})
	}
	for _, t := range trials(s) {
		if !t.product {
			list = append(list, step{t.name, t, func() verdict { return c.session.try(t) }})
			continue
		}
		for _, m := range c.means {
			if m.name == "wgmma" && !t.half {
				continue
			}
			list = append(list, step{t.name + ", " + m.name, t, func() verdict { return c.by(m, t) }})
		}
	}
	return list
}

// by tries a product by one of the means.
func (c *checker) by(m means, t *trial) verdict {
	if err := m.missing(); err != nil {
		return verdict{err: err, skipped: true}
	}
	before := c.session.device
	c.session.device = m.device
	defer func() { c.session.device = before }()
	v := c.session.try(t)
	if v.err == nil {
		v.err = m.missing() // it is known after the first product
	}
	return v
}
