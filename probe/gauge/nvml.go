//go:build cgo && linux

package gauge

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// driver is the management library of NVIDIA's driver.
type driver struct{ api nvml.Interface }

// open loads the library, which comes with the driver.
func open() (library, error) {
	api := nvml.New()
	switch r := api.Init(); r {
	case nvml.SUCCESS:
		return driver{api}, nil
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, errors.New("there is no NVIDIA driver here: libnvidia-ml.so.1 is not found")
	default:
		return nil, fmt.Errorf("the NVIDIA driver does not answer: %s", nvml.ErrorString(r))
	}
}

func (d driver) close() error {
	if r := d.api.Shutdown(); r != nvml.SUCCESS {
		return errors.New("closing the driver's library: " + nvml.ErrorString(r))
	}
	return nil
}

// cards reads all cards. One that fell off the bus is left out.
func (d driver) cards() ([]card, error) {
	n, r := d.api.DeviceGetCount()
	if r != nvml.SUCCESS {
		return nil, errors.New("counting the cards: " + nvml.ErrorString(r))
	}
	var cards []card
	for i := range n {
		device, r := d.api.DeviceGetHandleByIndex(i)
		if r != nvml.SUCCESS {
			continue
		}
		if c, ok := read(device); ok {
			cards = append(cards, c)
		}
	}
	return cards, nil
}

// read looks at one card; ok is false when it does not even give its memory.
func read(device nvml.Device) (c card, ok bool) {
	memory, r := device.GetMemoryInfo()
	if r != nvml.SUCCESS {
		return c, false
	}
	c = card{
		total: int64(memory.Total), used: int64(memory.Used),
		utilisation: unknown, temperature: unknown, powerMilliwatt: unknown,
	}
	c.uuid, _ = device.GetUUID()
	c.name, _ = device.GetName()
	if pci, r := device.GetPciInfo(); r == nvml.SUCCESS {
		id, _, _ := bytes.Cut(pci.BusId[:], []byte{0})
		c.bus = string(id)
	}
	if u, r := device.GetUtilizationRates(); r == nvml.SUCCESS {
		c.utilisation = int64(u.Gpu)
	}
	if t, r := device.GetTemperature(nvml.TEMPERATURE_GPU); r == nvml.SUCCESS {
		c.temperature = int64(t)
	}
	if p, r := device.GetPowerUsage(); r == nvml.SUCCESS {
		c.powerMilliwatt = int64(p)
	}
	c.users = users(device)
	return c, true
}

// users returns the processes on a card. One that both computes and draws is in
// both of the driver's lists, with the same number.
func users(device nvml.Device) []user {
	var all []user
	seen := make(map[uint32]bool)
	for _, list := range []func() ([]nvml.ProcessInfo, nvml.Return){
		device.GetComputeRunningProcesses, device.GetGraphicsRunningProcesses,
	} {
		processes, r := list()
		if r != nvml.SUCCESS {
			continue
		}
		for _, p := range processes {
			if seen[p.Pid] {
				continue
			}
			seen[p.Pid] = true
			u := user{int(p.Pid), unknown}
			if p.UsedGpuMemory <= math.MaxInt64 { // the greatest number of all means that it is not accounted for
				u.bytes = int64(p.UsedGpuMemory)
			}
			all = append(all, u)
		}
	}
	return all
}
