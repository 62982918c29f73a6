package analysis

import (
	"fmt"
	"strconv"
)

// Moment is a point in a device's history: its peak, its end, or right after one
// of its events. The zero value is the peak, which for a device without a history
// is its end. A pointer to it is a flag's value.
type Moment struct {
	kind  momentKind
	event int
}

type momentKind uint8

const (
	atPeak momentKind = iota
	atEnd
	atEvent
)

// The moments that every device has.
var (
	Peak = Moment{kind: atPeak}
	End  = Moment{kind: atEnd}
)

// At returns the moment right after an event; −1 is before the first.
func At(event int) Moment { return Moment{atEvent, event} }

// MomentError says that a trace does not have the requested moment.
type MomentError struct{ Cause, Remedy string }

// Error returns the cause.
func (e *MomentError) Error() string { return e.Cause }

// String returns the moment as Set reads it.
func (m *Moment) String() string {
	switch m.kind {
	case atEnd:
		return "end"
	case atEvent:
		return strconv.Itoa(m.event)
	default:
		return "peak"
	}
}

// Set reads "peak", "end" or the number of an event.
func (m *Moment) Set(text string) error {
	switch text {
	case "peak":
		*m = Peak
	case "end":
		*m = End
	default:
		event, err := strconv.Atoi(text)
		if err != nil || event < -1 {
			return fmt.Errorf("%q is not a moment; write peak, end or the number of an event", text)
		}
		*m = At(event)
	}
	return nil
}

// Type names the flag's type in help.
func (m *Moment) Type() string { return "MOMENT" }

// In returns the event of a device right after which the moment is.
func (m Moment) In(x *Index) (int, error) {
	switch {
	case m.kind == atPeak && x.History():
		return x.Summary().PeakEvent, nil
	case m.kind != atEvent:
		return x.End(), nil
	case m.event > x.End():
		return 0, &MomentError{
			fmt.Sprintf("device %d has no event %d; its last is %d", x.Device().ID, m.event, x.End()), "--at end",
		}
	}
	return m.event, nil
}

// Of returns the event of each device right after which the moment is. An event
// belongs to one device. So if there are several devices, the number of an event
// is an error: it does not name a moment of the others.
func (m Moment) Of(indexes []*Index) ([]int, error) {
	if m.kind == atEvent && len(indexes) > 1 {
		return nil, &MomentError{
			fmt.Sprintf("there are %d devices, and event %d is a moment of one", len(indexes), m.event), "--device N",
		}
	}
	events := make([]int, len(indexes))
	for i, x := range indexes {
		event, err := m.In(x)
		if err != nil {
			return nil, err
		}
		events[i] = event
	}
	return events, nil
}
