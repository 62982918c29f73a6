package program

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
)

// half is in what type a whole model is: "" is float32. It is a flag's value, and can
// be given without one.
type half string

const defaultHalf half = "bf16"

// halves are the types by the names that flags have for them.
var halves = map[half]device.DType{"": device.Float32, "bf16": device.BFloat16, "fp16": device.Float16}

// dtype is the type of parameters.
func (h half) dtype() device.DType { return halves[h] }

// String returns what can be given, and "off" for none.
func (h *half) String() string {
	if *h == "" {
		return "off"
	}
	return string(*h)
}

// Set reads a name. Runs that were saved before there was a choice have true or false.
func (h *half) Set(text string) error {
	switch text {
	case "off", "false":
		*h = ""
	case "true":
		*h = defaultHalf
	case "bf16", "fp16":
		*h = half(text)
	default:
		return fmt.Errorf("half %q: want bf16, fp16 or off", text)
	}
	return nil
}

// Type names the flag's type in help.
func (h *half) Type() string { return "TYPE" }
