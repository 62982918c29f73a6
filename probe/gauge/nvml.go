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
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return nil, fmt.Errorf("the NVIDIA driver does not answer: %s; it was updated while it ran, so restart the machine", nvml.ErrorString(r))
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

// has reports whether the library has a function. To call one that an old driver
// does not have ends the process.
func (d driver) has(symbol string) bool { return d.api.Extensions().LookupSymbol(symbol) == nil }

// cards reads all cards. A divided card is replaced by its instances. A card that
// fell off the bus is left out.
func (d driver) cards() ([]card, error) {
	n, r := d.api.DeviceGetCount()
	if r != nvml.SUCCESS {
		return nil, errors.New("counting the cards: " + nvml.ErrorString(r))
	}
	var cards []card
	for i := range n {
		device, r := d.api.DeviceGetHandleByIndex(i)
		switch {
		case r != nvml.SUCCESS:
		case d.divided(device):
			cards = append(cards, d.instances(device)...)
		default:
			cards = append(cards, d.read(device))
		}
	}
	return cards, nil
}

// divided reports whether a card is divided into instances, each a device of its
// own to CUDA.
func (d driver) divided(device nvml.Device) bool {
	if !d.has("nvmlDeviceGetMigMode") {
		return false
	}
	mode, _, r := device.GetMigMode()
	return r == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE
}

// instances reads the instances of a card. Without the permission for that, it
// returns the card with the reason.
func (d driver) instances(device nvml.Device) (cards []card) {
	n, r := device.GetMaxMigDeviceCount()
	for i := range n {
		var instance nvml.Device
		if instance, r = device.GetMigDeviceHandleByIndex(i); r == nvml.SUCCESS {
			c := d.read(instance)
			c.bus = busOf(device)
			cards = append(cards, c)
		} else if r == nvml.ERROR_NO_PERMISSION {
			break
		}
	}
	if len(cards) == 0 {
		c := d.named(device)
		c.unread = "it is divided into instances (MIG), and the driver names none of them: " + nvml.ErrorString(r)
		cards = append(cards, c)
	}
	return cards
}

// named returns a card with only its identity.
func (d driver) named(device nvml.Device) (c card) {
	c.uuid, _ = device.GetUUID()
	c.name, _ = device.GetName()
	c.bus = busOf(device)
	return c
}

func busOf(device nvml.Device) string {
	pci, r := device.GetPciInfo()
	if r != nvml.SUCCESS {
		return ""
	}
	id, _, _ := bytes.Cut(pci.BusId[:], []byte{0})
	return string(id)
}

// read reads one card or instance.
func (d driver) read(device nvml.Device) card {
	c := d.named(device)
	memory, r := device.GetMemoryInfo()
	said := "the driver does not say what memory it has: " + nvml.ErrorString(r)
	switch {
	case r == nvml.ERROR_NOT_SUPPORTED || r == nvml.SUCCESS && memory.Total == 0:
		c = c.unify(said)
	case r != nvml.SUCCESS:
		c.unread = said
	default:
		c.total, c.used = int64(memory.Total), int64(memory.Used)
	}
	if c.unread != "" {
		return c
	}
	c.utilisation, c.temperature, c.powerMilliwatt = unknown, unknown, unknown
	if d.has("nvmlDeviceGetUtilizationRates") {
		if u, r := device.GetUtilizationRates(); r == nvml.SUCCESS {
			c.utilisation = int64(u.Gpu)
		}
	}
	if d.has("nvmlDeviceGetTemperature") {
		if t, r := device.GetTemperature(nvml.TEMPERATURE_GPU); r == nvml.SUCCESS {
			c.temperature = int64(t)
		}
	}
	if d.has("nvmlDeviceGetPowerUsage") {
		if p, r := device.GetPowerUsage(); r == nvml.SUCCESS {
			c.powerMilliwatt = int64(p)
		}
	}
	c.users, c.unlisted = users(device)
	return c
}

// users returns the processes on a card, or why the computing ones are unknown. A
// process that both computes and draws is in both of the driver's lists, with the
// same bytes.
func users(device nvml.Device) (all []user, unlisted string) {
	seen := make(map[uint32]bool)
	computing, r := device.GetComputeRunningProcesses()
	if r != nvml.SUCCESS {
		unlisted = nvml.ErrorString(r)
	}
	drawing, _ := device.GetGraphicsRunningProcesses() // a card for computing has no such list
	for _, p := range append(computing, drawing...) {
		if seen[p.Pid] {
			continue
		}
		seen[p.Pid] = true
		u := user{int(p.Pid), unknown}
		if p.UsedGpuMemory <= math.MaxInt64 { // the greatest number means that the driver does not account for it
			u.bytes = int64(p.UsedGpuMemory)
		}
		all = append(all, u)
	}
	return all, unlisted
}
