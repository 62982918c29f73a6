package ptx

import (
	"errors"
	"fmt"
)

// Launch is a launch of an entry, as the driver gets it.
type Launch struct {
	Grid, Block [3]uint32
	Shared      uint32 // bytes of shared memory besides those that the entry declares
	Args        []byte
}

// Machine runs programs on memory. It runs one launch at a time.
type Machine struct {
	Memory Memory
	// Falling runs the blocks and their warps from the last to the first.
	Falling bool
	// Freedom is what becomes of results that the language leaves open.
	Freedom Freedom
	// Most is how many times a launch may branch backward; 0 means 1<<26.
	Most int
}

// launch is a launch that runs.
type launch struct {
	Launch
	machine *Machine
	program *Program
	falling bool
	left    int                  // branches backward
	notes   map[uint64]knowledge // what was released, by address
}

// Run runs a launch to its end. It returns a *Fault if the kernel does what it must not.
func (m *Machine) Run(p *Program, l Launch) (err error) {
	threads := int(l.Block[0] * l.Block[1] * l.Block[2])
	switch {
	case len(l.Args) != p.params:
		return fmt.Errorf("ptx: %s takes %d bytes of arguments, and gets %d", p.Name, p.params, len(l.Args))
	case threads == 0 || threads > 1024 || p.threads > 0 && threads > p.threads:
		return fmt.Errorf("ptx: %s runs with up to %d threads a block, and gets %d", p.Name, p.threads, threads)
	case p.shared+int(l.Shared) > sharedFrom+227<<10:
		return fmt.Errorf("ptx: %s has %d bytes of shared memory", p.Name, p.shared+int(l.Shared))
	}
	run := &launch{Launch: l, machine: m, program: p, falling: m.Falling, left: m.Most, notes: make(map[uint64]knowledge)}
	if run.left == 0 {
		run.left = 1 << 26
	}
	p.freedom = m.Freedom
	defer func() {
		m.Memory.forget()
		if r := recover(); r != nil {
			var fault *Fault
			if e, ok := r.(error); !ok || !errors.As(e, &fault) {
				panic(r)
			}
			err = fault
		}
	}()
	run.all(threads)
	return nil
}

// all runs the blocks, some at the same time: each in turn until it waits.
func (l *launch) all(threads int) {
	order := l.order()
	resident := make([]*block, 0, 2)
	for len(order) > 0 || len(resident) > 0 {
		for len(resident) < cap(resident) && len(order) > 0 {
			resident = append(resident, l.begin(order[0], threads))
			order = order[1:]
		}
		left := resident[:0]
		for _, b := range resident {
			if b.step() {
				l.program.idle = append(l.program.idle, b)
			} else {
				left = append(left, b)
			}
		}
		resident = left
	}
}

// order returns the numbers of the blocks in the order in which they begin.
func (l *launch) order() []int {
	n := int(l.Grid[0] * l.Grid[1] * l.Grid[2])
	order := make([]int, n)
	for i := range order {
		order[i] = i
		if l.falling {
			order[i] = n - 1 - i
		}
	}
	return order
}

// begin makes a block that has run no instruction.
func (l *launch) begin(number, threads int) *block {
	n := uint32(number)
	b := l.make(threads)
	b.launch, b.number, b.index = l, n, [3]uint32{n % l.Grid[0], n / l.Grid[0] % l.Grid[1], n / l.Grid[0] / l.Grid[1]}
	b.epoch, b.knows, b.learnt = 1, nil, nil
	clear(b.cells)
	for i := range b.shared {
		b.shared[i] = 0xff
	}
	for i, w := range b.warps {
		w.begin(b, i)
	}
	return b
}

// make makes a block's memory, or takes that of one that has ended.
func (l *launch) make(threads int) *block {
	p := l.program
	bytes := (p.shared + int(l.Shared) + 3) &^ 3
	if last := len(p.idle) - 1; last >= 0 {
		b := p.idle[last]
		if p.idle = p.idle[:last]; b.threads == threads && len(b.shared) == bytes {
			return b
		}
	}
	b := &block{threads: threads, shared: make([]byte, bytes), cells: make([]cell, bytes/4)}
	for range (threads + width - 1) / width {
		w := &warp{program: p, registers: make([]lanes, p.registers), local: make([]byte, p.local*width), touched: make([]bool, p.local*width)}
		for _, c := range p.constants {
			for i := range width {
				w.registers[c.register][i] = c.value
			}
		}
		b.warps = append(b.warps, w)
	}
	return b
}

// spend counts a branch backward.
func (l *launch) spend(w *warp, in *instruction) {
	if l.left--; l.left < 0 {
		w.fault(in, 0, "does not end")
	}
}
