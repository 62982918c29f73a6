package program

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/trace"
)

// reporter reports steps, in text or in JSON.
type reporter struct {
	out   *command.Output
	json  *json.Encoder // nil for text
	width int           // of the terminal, where a line is overwritten by the next; 0 for none
	last  *train.Event
	steps int64
}

func newReporter(s *session, stdout *command.Output) *reporter {
	r := &reporter{out: stdout, steps: s.steps}
	if s.asJSON {
		r.json = json.NewEncoder(stdout.JSON())
	}
	r.width, _, _ = term.GetSize(stdout.Fd()) // 0 where it is no terminal
	return r
}

// step reports a step.
func (r *reporter) step(e *train.Event) error {
	r.last = e
	if r.json != nil {
		return progressed(r.json.Encode(objectOf(e)))
	}
	if r.width > 0 {
		_, err := fmt.Fprint(r.out.Raw(), "\r", shortened(progress(e, r.steps), r.width), "\x1b[K")
		return progressed(err)
	}
	_, err := fmt.Fprintln(r.out, progress(e, r.steps))
	return progressed(err)
}

// progressError says that a step could not be reported, for example because the
// terminal has gone. The run itself is whole.
type progressError struct{ error }

// Error says what could not be done.
func (e progressError) Error() string { return "writing the progress: " + e.error.Error() }

// Unwrap returns the reason.
func (e progressError) Unwrap() error { return e.error }

func progressed(err error) error {
	if err == nil {
		return nil
	}
	return progressError{err}
}

// progress is the line about a step.
func progress(e *train.Event, steps int64) string {
	of := ""
	if steps > 0 {
		of = fmt.Sprintf("/%d", steps)
	}
	skipped := ""
	if e.Skipped {
		skipped = "  skipped"
	}
	communication := ""
	if c := e.Communication; c.Communicated > 0 {
		communication = fmt.Sprintf("  %.1f ms communication, %.0f %% of it overlapped", c.Communicated.Seconds()*1e3, 100*c.Overlapped())
	}
	return fmt.Sprintf("step %d%s  loss %.4f%s  %.0f tokens/s  %s peak  %s reserved  %s allocated%s",
		e.Step, of, e.Loss, skipped, float64(e.Tokens)/e.Duration.Seconds(),
		sizeText(e.Memory.PeakAllocated), sizeText(e.Memory.Reserved), sizeText(e.Memory.Allocated), communication)
}

// shortened leaves out the last parts of a line that is wider than the terminal,
// because the next line could not overwrite a broken one.
func shortened(line string, width int) string {
	for len(line) >= width {
		end := strings.LastIndex(line, "  ")
		if end < 0 {
			return line[:max(width-1, 0)]
		}
		line = line[:end]
	}
	return line
}

// end closes the report. In text it prints the purposes of the last step's
// memory.
func (r *reporter) end() error {
	if r.json != nil || r.last == nil {
		return nil
	}
	if r.width > 0 {
		fmt.Fprintln(r.out)
	}
	return progressed(printNeeds(r.out, "measured", &r.last.Memory))
}

// object is a step in the output of --json.
type object struct {
	Step              int64             `json:"step"`
	Loss              *float64          `json:"loss"` // null when it is not a number
	Tokens            int64             `json:"tokens"`
	StepTimeNS        int64             `json:"step_time_ns"`
	Skipped           bool              `json:"skipped"`
	AllocatedBytes    int64             `json:"allocated_bytes"`
	ReservedBytes     int64             `json:"reserved_bytes"`
	PeakAllocated     int64             `json:"peak_allocated_bytes"`
	PeakReservedBytes int64             `json:"peak_reserved_bytes"`
	Categories        map[string]int64  `json:"categories"`
	CategoriesAtPeak  map[string]int64  `json:"categories_at_peak"`
	HostBytes         map[string]int64  `json:"host_bytes"` // when that was most
	Settings          map[string]string `json:"settings"`
	World             int               `json:"world"` // how many processes train together
	Ranks             []rankObject      `json:"ranks,omitempty"`
	// The time of the first process's operations with the others, and the part of
	// it for which it waited instead of computing.
	CommunicationNS       int64 `json:"communication_ns,omitempty"`
	CommunicationWaitedNS int64 `json:"communication_waited_ns,omitempty"`
}

func objectOf(e *train.Event) object {
	m := &e.Memory
	o := object{
		Step: e.Step, Loss: &e.Loss, Tokens: e.Tokens, StepTimeNS: e.Duration.Nanoseconds(), Skipped: e.Skipped,
		AllocatedBytes: m.Allocated, ReservedBytes: m.Reserved,
		PeakAllocated: m.PeakAllocated, PeakReservedBytes: m.PeakReserved,
		Categories: byName(m.Now.Category), CategoriesAtPeak: byName(m.AtPeak), HostBytes: byName(m.Host), Settings: e.Values(),
		World: max(len(e.Ranks), 1), Ranks: rankObjects(e.Ranks),
		CommunicationNS: e.Communication.Communicated.Nanoseconds(), CommunicationWaitedNS: e.Communication.Waited.Nanoseconds(),
	}
	if math.IsNaN(e.Loss) || math.IsInf(e.Loss, 0) {
		o.Loss = nil
	}
	return o
}

func byName(bytes [trace.CategoryCount]int64) map[string]int64 {
	m := make(map[string]int64, len(bytes))
	for c, n := range bytes {
		m[trace.Category(c).String()] = n
	}
	return m
}
