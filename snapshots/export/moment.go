package export

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/quantity"
)

// snapshot is one device at one moment.
type snapshot struct {
	index *analysis.Index
	event int
}

// snapshots returns each device at the requested moment.
func (o *Options) snapshots(indexes []*analysis.Index) ([]snapshot, error) {
	events, err := o.At.Of(indexes)
	if err != nil {
		return nil, err
	}
	all := make([]snapshot, len(indexes))
	for i, x := range indexes {
		all[i] = snapshot{x, events[i]}
	}
	return all, nil
}

// noHistory says why there is only a state.
const noHistory = "no history was recorded"

// Notices says why an export may have less data than the user expects. The
// options must have their indexes.
func (f Format) Notices(o Options) []string {
	if len(o.Indexes) == 0 {
		return []string{"the snapshot has no device with memory or events, so nothing is in the export"}
	}
	var notices []string
	for _, x := range o.Indexes {
		event, err := o.At.In(x)
		switch {
		case !x.History():
			notices = append(notices, deviceName(x)+": only its memory at the end is in the export; "+noHistory)
		case f.Moment && err == nil && x.RequestedAt(event) == 0:
			notices = append(notices, deviceName(x)+": nothing is live at that moment, so nothing is in the export")
		}
	}
	return notices
}

// title describes the moment in words.
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
