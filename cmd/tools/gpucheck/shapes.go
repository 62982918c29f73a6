package main

import "github.com/memtop/memtop/engine/device"

// shapes are the sizes of the operations.
type shapes struct {
	batch, length, heads, dim int
	width, hidden, vocab      int
	image, channels           int // of convolutions
}

// gpt2 are those of GPT-2 124M, 16 samples of 1,024 tokens.
var gpt2 = shapes{batch: 16, length: 1024, heads: 12, dim: 64, width: 768, hidden: 3072, vocab: 50304, image: 56, channels: 64}

// tokens is the rows of an activation.
func (s shapes) tokens() int { return s.batch * s.length }

// row is one operation in some types.
type row struct {
	operation string
	name      string
	types     []device.DType
	make      func(t *trial, d device.DType, s shapes)
}

var (
	single = []device.DType{device.Float32}
	mixed  = []device.DType{device.Float32, device.BFloat16}
	halves = []device.DType{device.Float32, device.BFloat16, device.Float16}
)

// trials are those of all rows.
func trials(s shapes) (list []*trial) {
	for _, r := range rows {
		for _, d := range r.types {
			t := &trial{operation: r.operation, rows: s.tokens(), half: d.Size() == 2}
			r.make(t, d, s)
			t.name = r.operation + " " + r.name + d.String()
			list = append(list, t)
		}
	}
	return list
}

// rows has every operation of device.Backend but the transfers.
var rows = concat(elementwise, products, normalizations, lookups, attentions, updates)

func concat(lists ...[]row) (all []row) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
