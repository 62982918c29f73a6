package nn

import (
	"fmt"

	"github.com/memtop/memtop/engine/autograd"
)

// MLPConfig holds the sizes of a multilayer perceptron.
type MLPConfig struct {
	In, Hidden, Out int
	Layers          int // hidden layers
}

// NewMLP makes hidden layers of Linear and GELU, and a Linear that ends it. It
// takes [..., In] and returns [..., Out].
func NewMLP(b Builder, o MLPConfig) *Sequential {
	var blocks []Module
	width := o.In
	for i := range o.Layers {
		blocks = append(blocks, NewSequential(
			NewLinear(b.In(fmt.Sprintf("h.%d.0", i)), width, o.Hidden, true), &GELU{}))
		width = o.Hidden
	}
	return &Sequential{modules: []Child{
		{"h", NewBlocks(blocks...)},
		{"head", NewLinear(b.In("head"), width, o.Out, true)},
	}}
}

// ConvNetConfig holds the sizes of a small convolutional net.
type ConvNetConfig struct {
	Channels int // of the image
	Width    int // channels of the first layer; each further one has twice as many
	Layers   int
	Classes  int
}

// NewConvNet makes layers of 3×3 convolution with stride 2 and ReLU, the mean
// over what is left of the image, and a Linear that ends it. It takes
// [Batch, Channels, Height, Width] and returns [Batch, Classes].
func NewConvNet(b Builder, o ConvNetConfig) *Sequential {
	var blocks []Module
	in, out := o.Channels, o.Width
	for i := range o.Layers {
		conv := NewConv2d(b.In(fmt.Sprintf("h.%d.0", i)), in, out, 3,
			autograd.Conv2DOptions{Stride: [2]int{2, 2}, Pad: [2]int{1, 1}})
		blocks = append(blocks, NewSequential(conv, &ReLU{}))
		in, out = out, 2*out
	}
	return &Sequential{modules: []Child{
		{"h", NewBlocks(blocks...)},
		{"pool", &MeanPool{}},
		{"head", NewLinear(b.In("head"), in, o.Classes, true)},
	}}
}
