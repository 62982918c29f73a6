package main

import (
	"github.com/memtop/memtop/engine/device"
)

// trial is an operation with operands of one shape and type.
type trial struct {
	operation string // a method of device.Backend
	name      string
	// rows is how many rows the operation has that do not depend on each other:
	// some of them are computed again, in float64. 1 is an operation whose result
	// is checked whole.
	rows     int
	operands []*operand
	// do queues the operation on so many rows. Where an operand is depends on
	// the backend: all its rows on the device, those of the sample elsewhere.
	do func(b device.Backend, rows int, at func(*operand) device.Array)
	// slack is how many times the type's rounding the error may be; 0 means once.
	slack   float64
	flops   float64
	exact   bool // the reference computes in the types of the device
	product bool // done by each of the means to multiply
	half    bool // of a type of 16 bits
}

// role is what an operation does with an operand.
type role int

const (
	input role = iota
	output
	changed
	scratch // memory whose content does not matter
)

// operand is an array: rows of cols elements.
type operand struct {
	role       role
	dtype      device.DType
	rows, cols int
	part       part
	values     values
	keeps      bool // its type, in the reference too
}

// part is what a row of the operation needs of an operand.
type part int

const (
	whole part = iota
	aRow
	aColumn
)

// values are what an operand holds at first.
type values struct {
	mean, deviation float64 // of random numbers
	below           int     // whole numbers from 0 to below, if it is not 0
}

var random = values{deviation: 1}

// add adds an operand with rows that belong to those of the operation.
func (t *trial) add(r role, d device.DType, rows, cols int) *operand {
	o := &operand{role: r, dtype: d, rows: rows, cols: cols, part: aRow, values: random}
	t.operands = append(t.operands, o)
	return o
}

func (t *trial) in(d device.DType, rows, cols int) *operand  { return t.add(input, d, rows, cols) }
func (t *trial) out(d device.DType, rows, cols int) *operand { return t.add(output, d, rows, cols) }
func (t *trial) inOut(d device.DType, rows, cols int) *operand {
	return t.add(changed, d, rows, cols)
}

// work is scratch memory.
func (t *trial) work(bytes int64) *operand { return t.add(scratch, device.UInt8, 1, int(bytes)).all() }

// isResult reports whether the operation writes the operand for others.
func (o *operand) isResult() bool { return o.role == output || o.role == changed }

// all makes every row of the operation need the operand whole.
func (o *operand) all() *operand {
	o.part = whole
	return o
}

// columns makes a row of the operation need a column of the operand.
func (o *operand) columns() *operand {
	o.part = aColumn
	return o
}

// holding sets the values.
func (o *operand) holding(v values) *operand {
	o.values = v
	return o
}

// one is a single number that keeps its type.
func (t *trial) one(r role, value float64) *operand {
	o := t.add(r, device.Float32, 1, 1).all().holding(values{mean: value})
	o.keeps = true
	return o
}

func (o *operand) bytes() int64 { return int64(o.rows*o.cols) * o.dtype.Size() }

// moved is the bytes of all operands, those that are changed twice.
func (t *trial) moved() (n int64) {
	for _, o := range t.operands {
		if o.role != scratch {
			n += o.bytes()
		}
		if o.role == changed {
			n += o.bytes()
		}
	}
	return n
}
