package tensor

import (
	"fmt"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/dry"
)

// NewRehearsal returns a device in the place of d that computes nothing and
// only counts memory, with an allocator of d's settings that starts empty. What
// a program allocates on it, it will allocate on d. It needs no closing.
func NewRehearsal(d *Device) (*Device, error) {
	memory, err := alloc.New(dry.NewMemory(0), alloc.Options{Name: d.name, Config: d.memory.Config()})
	if err != nil {
		return nil, fmt.Errorf("rehearsal of %s: %w", d.name, err)
	}
	return NewDevice(d.name, memory, dry.Backend{}, Options{Stream: d.options.Stream, Unnamed: true}), nil
}
