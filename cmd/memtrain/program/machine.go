package program

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/snapshots/launcher"
)

// Machine is a device to train on: its memory and its operations.
type Machine interface {
	alloc.Driver
	device.Backend
	// Name is the device's name in the engine, "cuda:0".
	Name() string
	Close() error
}

// onGPU reports whether the device is a GPU, whose products are faster with round
// sizes.
func (s *session) onGPU() bool { return strings.HasPrefix(s.machine.Name(), "cuda") }

// Reach holds the functions that reach beyond this process and its processor. A
// program that was built without one of them has nil in its field.
type Reach struct {
	GPUs GPUs
	// Group joins the processes that a launcher has started, for tensors on the
	// host. It returns nil if there is only one process.
	Group func() (collective.Group, error)
	// GPUGroup joins processes that train on a GPU each; at is this process's
	// place. host is the result of Group, which GPUGroup closes with its group,
	// or nil under torchrun.
	GPUGroup func(m Machine, at launcher.Place, host collective.Group) (collective.Group, error)
}

// GPUs opens the GPU with a number. It is nil in a program that was built without
// GPU support: a program that only shows memory need not contain code for a GPU.
type GPUs func(ordinal int) (Machine, error)

// openMachine opens the device that --device names. auto means the GPU of this
// process if there is one, else cpu:0; without then says why there is no GPU.
func (s *session) openMachine() (m Machine, without error, err error) {
	name := s.options.device
	number, isGPU := strings.CutPrefix(name, "cuda")
	switch {
	case name == "auto" && s.reach.GPUs != nil:
		if m, without = s.openOwnGPU(); without == nil {
			return m, nil, nil
		}
	case name == "auto", name == "cpu", name == "cpu:0":
	case isGPU && (number == "" || strings.HasPrefix(number, ":")):
		m, err = s.openGPU(strings.TrimPrefix(number, ":"))
		return m, nil, err
	case strings.HasPrefix(name, "cpu:"):
		return nil, nil, machineError{name + ": there is no such device", "train on cpu:0, which every machine has"}
	default:
		return nil, nil, usagef("there is no device %q: auto, cpu:0 and cuda:N are known", name)
	}
	c, err := cpu.Open(cpu.Options{Capacity: int64(s.deviceMemory)})
	if err != nil {
		return nil, nil, machineError{err.Error(), "give less with --device-memory"}
	}
	return c, without, nil
}

// openOwnGPU opens the GPU of this process. If a machine has several processes,
// each takes the GPU with its local number, unless it sees only one GPU, as under
// Slurm.
func (s *session) openOwnGPU() (Machine, error) {
	m, err := s.reach.GPUs(s.launched.Local)
	if err != nil && s.launched.Local > 0 {
		return s.reach.GPUs(0)
	}
	return m, err
}

// openGPU opens the GPU with a number; an empty number means the GPU of this
// process.
func (s *session) openGPU(number string) (m Machine, err error) {
	ordinal, err := strconv.Atoi(cmp.Or(number, "0"))
	if err != nil || ordinal < 0 {
		return nil, usagef("there is no device %q: auto, cpu:0 and cuda:N are known", s.options.device)
	}
	const remedy = "train on cpu:0, which every machine has"
	switch {
	case s.reach.GPUs == nil:
		return nil, machineError{s.options.device + ": this program was built without GPUs", remedy}
	case number == "":
		m, err = s.openOwnGPU()
	default:
		m, err = s.reach.GPUs(ordinal)
	}
	if err != nil {
		return nil, machineError{fmt.Sprintf("%s: %v", s.options.device, err), remedy}
	}
	return m, nil
}
