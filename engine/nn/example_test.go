package nn_test

import (
	"fmt"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// A step of training, from the device to the gradients, and what every layer of
// the model took.
func Example() {
	if err := step(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// "" Sequential: [10, 4], 0 bytes saved, checkpointed false
	// "h" Blocks: [10, 16], 640 bytes saved, checkpointed false
	// "h.0" Sequential: [10, 16], 0 bytes saved, checkpointed false
	// "h.0.0" Linear: [10, 16], 0 bytes saved, checkpointed false
	// "h.0.1" GELU: [10, 16], 640 bytes saved, checkpointed false
	// "h.1" Sequential: [10, 16], 0 bytes saved, checkpointed true
	// "h.1.0" Linear: [10, 16], 0 bytes saved, checkpointed true
	// "h.1.1" GELU: [10, 16], 0 bytes saved, checkpointed true
	// "head" Linear: [10, 4], 640 bytes saved, checkpointed false
	// "" CrossEntropy: [], 204 bytes saved, checkpointed false
	// gradients: 1936 bytes
}

func step() error {
	machine, err := cpu.Open(cpu.Options{Capacity: 64 << 20})
	if err != nil {
		return err
	}
	defer func() { _ = machine.Close() }()
	memory, err := alloc.New(machine.Memory, alloc.Options{})
	if err != nil {
		return err
	}
	d := tensor.NewDevice("cpu:0", memory, machine.Backend, tensor.Options{})

	model, err := nn.Build(d, device.Float32, 42, func(b nn.Builder) *nn.Sequential {
		return nn.NewMLP(b, nn.MLPConfig{In: 8, Hidden: 16, Out: 4, Layers: 2})
	})
	if err != nil {
		return err
	}
	defer nn.Close(model)

	c := nn.NewCtx(autograd.NewTape(d, 42), nn.Options{Training: true, Checkpoint: nn.Ratio(0.5)})
	loss := &nn.CrossEntropy{}
	err = tensor.Try(func() {
		c.Run(func() {
			input := tensor.Tag{Category: trace.Input, Role: "input"}
			x := c.Take(tensor.Full(d, tensor.Shape{10, 8}, device.Float32, 1, input))
			y := c.Take(tensor.Full(d, tensor.Shape{10}, device.Int32, 2, input))
			c.Backward(c.Call(loss, c.Call(model, x), y))
		})
	})
	if err != nil {
		return err // such as an *alloc.OOMError; nothing of the step is left
	}

	for _, l := range c.Layers() {
		fmt.Printf("%q %s: %v, %d bytes saved, checkpointed %v\n",
			l.Name, l.Class, l.OutputShape, l.SavedBytes, l.Checkpointed)
	}
	fmt.Println("gradients:", memory.Stats().Category[trace.Gradient].Current, "bytes")
	return nil
}
