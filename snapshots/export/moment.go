package export

import (
	"fmt"
	"strconv"

	"memtop/snapshots/analysis"
	"memtop/snapshots/quantity"
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

// MomentError says that a trace does not have the moment that was asked for.
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

// in returns the event that the moment is right after.
func (m Moment) in(x *analysis.Index) (int, error) {
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

// snapshot is one device at one moment.
type snapshot struct {
	index *analysis.Index
	event int
}

// snapshots returns each device at the moment asked for. An event belongs to one
// device, so it does not say which moment of another is meant.
func (o *Options) snapshots(indexes []*analysis.Index) ([]snapshot, error) {
	if o.At.kind == atEvent && len(indexes) > 1 {
		return nil, &MomentError{
			fmt.Sprintf("there are %d devices, and event %d is a moment of one", len(indexes), o.At.event), "--device N",
		}
	}
	all := make([]snapshot, len(indexes))
	for i, x := range indexes {
		event, err := o.At.in(x)
		if err != nil {
			return nil, err
		}
		all[i] = snapshot{x, event}
	}
	return all, nil
}

// noHistory says why there is nothing but a state.
const noHistory = "no history was recorded"

// Notices says why what a format writes may be less than was expected of it.
// The options have their indexes.
func (f Format) Notices(o Options) []string {
	if len(o.Indexes) == 0 {
		return []string{"the snapshot has no device with memory or events, so nothing is in the export"}
	}
	var notices []string
	for _, x := range o.Indexes {
		event, err := o.At.in(x)
		switch {
		case !x.History():
			notices = append(notices, deviceName(x)+": only its memory at the end is in the export; "+noHistory)
		case f.Moment && err == nil && x.RequestedAt(event) == 0:
			notices = append(notices, deviceName(x)+": nothing is live at that moment, so nothing is in the export")
		}
	}
	return notices
}

// title says which moment it is, for people.
func (s snapshot) title() string {
	summary := s.index.Summary()
	level := quantity.Bytes(s.index.RequestedAt(s.event))
	switch {
	case !s.index.History():
		return level + " live at the end; " + noHistory
	case s.event == summary.PeakEvent:
		return fmt.Sprintf("%s live at the peak, after event %d", level, s.event)
	case s.event == s.index.End():
		return fmt.Sprintf("%s live at the end, after event %d", level, s.event)
	case s.event < 0:
		return level + " live before the first event"
	default:
		return fmt.Sprintf("%s live after event %d", level, s.event)
	}
}
