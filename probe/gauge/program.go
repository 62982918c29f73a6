package gauge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Program is a program whose devices a Reader reads.
type Program struct {
	PID     int   // in the driver's namespace, which is the machine's
	Devices []int // in the program's numbering
	// Environment returns a variable of the program, "" if it is not set. nil means
	// that no variable is known.
	Environment func(name string) string
}

// # Which card is a device
//
// A program numbers the devices that CUDA shows it; the driver numbers all cards,
// by their place on the bus. CUDA_VISIBLE_DEVICES chooses and orders them by UUID
// or by number. Those numbers follow the order of the bus only when
// CUDA_DEVICE_ORDER says so or all cards are of one kind. Otherwise the fastest
// card comes first, and only CUDA knows which one that is. A wrong guess would
// show another user's card, so a card counts only when the driver finds the
// program on it.

// card returns the card of a program's device, or the reason why the card, or its
// numbers, are unknown.
func (p Program) card(cards []card, device int) (*card, string) {
	c, reason := p.choose(cards, device)
	if reason == "" && c.unread != "" {
		return nil, fmt.Sprintf("the card %s: %s", c.uuid, c.unread)
	}
	return c, reason
}

// choose returns the card of a program's device.
func (p Program) choose(cards []card, device int) (*card, string) {
	onBus := make([]*card, len(cards))
	for i := range cards {
		onBus[i] = &cards[i]
	}
	slices.SortStableFunc(onBus, func(a, b *card) int { return cmp.Compare(a.bus, b.bus) })
	var used []*card
	for _, c := range onBus {
		if c.uses(p.PID) {
			used = append(used, c)
		}
	}
	switch {
	case len(used) == 0:
		return nil, fmt.Sprintf("the driver finds process %d on no card", p.PID) + hidden(onBus)
	case len(used) == 1 && len(p.Devices) == 1:
		return used[0], ""
	}
	c, reason := p.visible(onBus, device)
	if reason == "" && !c.uses(p.PID) {
		return nil, fmt.Sprintf("the driver does not find process %d on the card %s", p.PID, c.uuid) + hidden([]*card{c})
	}
	return c, reason
}

// hidden says why one of the cards may have unknown processes, if one may.
func hidden(cards []*card) string {
	for _, c := range cards {
		switch {
		case c.unread != "":
			return fmt.Sprintf("; of the card %s: %s", c.uuid, c.unread)
		case c.unlisted != "":
			return fmt.Sprintf("; it does not list those on the card %s: %s", c.uuid, c.unlisted)
		}
	}
	return ""
}

// visible follows CUDA_VISIBLE_DEVICES from a device to a card.
func (p Program) visible(onBus []*card, device int) (*card, string) {
	name := strconv.Itoa(device)
	if list := p.variable("CUDA_VISIBLE_DEVICES"); list != "" {
		names := strings.Split(list, ",")
		if device < 0 || device >= len(names) {
			return nil, "CUDA_VISIBLE_DEVICES names fewer devices"
		}
		name = strings.TrimSpace(names[device])
	}
	if number, err := strconv.Atoi(name); err == nil {
		return p.numbered(onBus, number)
	}
	return byUUID(onBus, name)
}

// numbered returns the card with a CUDA number, if that is certain.
func (p Program) numbered(onBus []*card, number int) (*card, string) {
	order := p.variable("CUDA_DEVICE_ORDER")
	alike := !slices.ContainsFunc(onBus, func(c *card) bool { return c.name != onBus[0].name })
	switch {
	case order != "PCI_BUS_ID" && !alike:
		return nil, "the cards differ, and CUDA_DEVICE_ORDER is not PCI_BUS_ID"
	case number < 0 || number >= len(onBus):
		return nil, "the driver knows no such card"
	}
	return onBus[number], ""
}

// byUUID returns the only card whose UUID has that prefix, as CUDA allows.
func byUUID(onBus []*card, prefix string) (*card, string) {
	var found *card
	for _, c := range onBus {
		if !strings.HasPrefix(c.uuid, prefix) {
			continue
		}
		if found != nil {
			return nil, "CUDA_VISIBLE_DEVICES matches several cards"
		}
		found = c
	}
	if found == nil {
		return nil, "the driver knows no such card"
	}
	return found, ""
}

func (p Program) variable(name string) string {
	if p.Environment == nil {
		return ""
	}
	return p.Environment(name)
}
