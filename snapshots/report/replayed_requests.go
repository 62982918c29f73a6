package report

import (
	"encoding/json"

	"github.com/memtop/memtop/snapshots/analysis/whatif"
)

// ReplaySchema names the version of a replay's JSON form.
const ReplaySchema = "memtop.replay/1"

// Replay is the result of recorded requests under other settings of the
// allocator. `memtop replay` prints it. All sizes are bytes.
type Replay struct {
	Schema   string         `json:"schema"`
	Device   int            `json:"device"`
	Recorded ReplayRecorded `json:"recorded"`
	// Reproduces is true when the replay under the recorded settings has the
	// recorded reserved bytes at every event; else it is the reason.
	Reproduces Reproduces     `json:"reproduces"`
	Again      *ReplayRun     `json:"again"` // the recorded settings on a new allocator, like the runs; null without a history
	Runs       []ReplayRun    `json:"runs"`
	WouldFit   []ReplayChange `json:"would_fit"` // changes with which the failed request would have succeeded, the largest saving first

	answer *whatif.Answer
}

// ReplayRecorded is the recorded run.
type ReplayRecorded struct {
	AllocConf          string     `json:"alloc_conf"`
	PeakReservedBytes  int64      `json:"peak_reserved_bytes"`
	PeakAllocatedBytes *int64     `json:"peak_allocated_bytes"` // null when the replay does not reproduce the recording
	HeldBytes          int64      `json:"held_bytes"`           // requested before recording began
	CapacityBytes      *int64     `json:"capacity_bytes"`       // the most that the process is known to have been able to reserve, null if not known
	RefusedBytes       *int64     `json:"refused_bytes"`        // the least level above the peak that the driver refused, null if none is known
	OOM                *ReplayOOM `json:"oom"`                  // the last request that failed
}

// ReplayOOM is a request that failed.
type ReplayOOM struct {
	*whatif.OOM
	ShortBytes int64 `json:"short_bytes"`
}

// ReplayChange is a change with its settings as people read them.
type ReplayChange struct {
	Name string `json:"name"`
	whatif.Change
}

// ReplayRun is the program under some settings.
type ReplayRun struct {
	Name string `json:"name"` // the settings as people read them: those of alloc_conf, or "the defaults"
	*whatif.Run
	OOMEvent *int `json:"oom_event"` // the first; −1 is before recording began, null without one
}

// Reproduces is why a replay does not reproduce its recording, "" when it does. Its
// JSON form is then true.
type Reproduces string

// MarshalJSON writes true or the reason.
func (r Reproduces) MarshalJSON() ([]byte, error) {
	if r == "" {
		return []byte("true"), nil
	}
	return json.Marshal(string(r))
}

// NewReplay converts an answer into its printed form.
func NewReplay(a *whatif.Answer) *Replay {
	r := &Replay{
		Schema: ReplaySchema, Device: a.Device, Reproduces: Reproduces(a.Recorded.WhyNot), answer: a,
		Recorded: ReplayRecorded{
			AllocConf: a.Recorded.Settings, PeakReservedBytes: a.Recorded.PeakReserved, HeldBytes: a.Recorded.Held,
		},
		Runs: make([]ReplayRun, 0, len(a.Runs)), WouldFit: make([]ReplayChange, 0),
	}
	if a.Recorded.WhyNot == "" {
		r.Recorded.PeakAllocatedBytes = &a.Recorded.PeakAllocated
	}
	if a.Recorded.Capacity > 0 {
		r.Recorded.CapacityBytes = &a.Recorded.Capacity
	}
	if a.Recorded.Refused > 0 {
		r.Recorded.RefusedBytes = &a.Recorded.Refused
	}
	if o := a.Recorded.OOM; o != nil {
		r.Recorded.OOM = &ReplayOOM{o, o.Short()}
	}
	if a.Again != nil {
		again := replayRun(a.Again)
		r.Again = &again
	}
	for _, c := range a.Changes() {
		r.WouldFit = append(r.WouldFit, ReplayChange{whatif.SettingsName(c.Settings), c})
	}
	for i := range a.Runs {
		r.Runs = append(r.Runs, replayRun(&a.Runs[i]))
	}
	return r
}

func replayRun(r *whatif.Run) ReplayRun {
	run := ReplayRun{Name: whatif.SettingsName(r.Settings), Run: r}
	if r.OOM {
		run.OOMEvent = &r.OOMEvent
	}
	return run
}
