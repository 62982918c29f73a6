package program

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
)

// half is the type of a whole model: "" is float32. It is the value of a flag
// that can be given without a value.
type half string

const defaultHalf half = "bf16"

// halves are the types by their names in flags.
var halves = map[half]device.DType{"": device.Float32, "bf16": device.BFloat16, "fp16": device.Float16}

// dtype returns the type of parameters.
func (h half) dtype() device.DType { return halves[h] }

// String returns the value as a flag takes it, and "off" for none.
func (h *half) String() string {
	if *h == "" {
		return "off"
	}
	return string(*h)
}

// Set reads a name. Runs saved by older versions, which had one type only, have
// true or false.
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
