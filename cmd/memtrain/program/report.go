package program

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"memtop/cmd/command"
	"memtop/engine/train"
	"memtop/snapshots/trace"
)

// reporter reports steps, in text or in JSON.
type reporter struct {
	out      *command.Output
	json     *json.Encoder // nil for text
	terminal bool          // a line can be overwritten
	last     *train.Event
	steps    int64
}

func newReporter(s *session, stdout *command.Output) *reporter {
	r := &reporter{out: stdout, steps: s.steps}
	if s.asJSON {
		r.json = json.NewEncoder(stdout.JSON())
	}
	if f, ok := stdout.Raw().(*os.File); ok {
		info, err := f.Stat()
		r.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return r
}

// step reports a step.
func (r *reporter) step(e *train.Event) error {
	r.last = e
	if r.json != nil {
		return progressed(r.json.Encode(objectOf(e)))
	}
	if r.terminal {
		_, err := fmt.Fprint(r.out.Raw(), "\r", progress(e, r.steps), "\x1b[K")
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
	return fmt.Sprintf("step %d%s  loss %.4f  %.0f tokens/s  %s allocated  %s reserved  %s peak%s",
		e.Step, of, e.Loss, float64(e.Tokens)/e.Duration.Seconds(),
		sizeText(e.Memory.Allocated), sizeText(e.Memory.Reserved), sizeText(e.Memory.PeakAllocated), skipped)
}

// end closes the report: in text, with what the last step's memory was for.
func (r *reporter) end() error {
	if r.json != nil || r.last == nil {
		return nil
	}
	if r.terminal {
		fmt.Fprintln(r.out)
	}
	m := &r.last.Memory
	_, err := fmt.Fprintf(r.out, "measured   %s\n", needs(m))
	return progressed(err)
}

// needs says how much memory a step takes, and for what.
func needs(m *train.Memory) string {
	h, host := &m.Highest, int64(0)
	for _, n := range m.Host {
		host += n
	}
	text := fmt.Sprintf("%s parameters  %s gradients  %s optimizer  %s activations  %s inputs  %s peak  %s reserved",
		sizeText(h[trace.Parameter]), sizeText(h[trace.Gradient]), sizeText(h[trace.Optimizer]),
		sizeText(h[trace.Activation]), sizeText(h[trace.Input]), sizeText(m.PeakAllocated), sizeText(m.PeakReserved))
	if host > 0 {
		text += "  " + sizeText(host) + " on the host"
	}
	return text
}

// announce says what is going to be trained and, by a step that computes
// nothing, what it will need. It fails when that is not there.
func (s *session) announce(ctx context.Context, out io.Writer) error {
	needed, warning, refused := s.checkFit(ctx)
	if s.asJSON {
		return refused
	}
	if s.without != nil {
		if _, err := fmt.Fprintf(out, "device     %s, because %v\n", s.machine.Name(), s.without); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "%s on %s of %s: %s, %s\n", s.options.model, s.machine.Name(),
		sizeText(s.capacity), s.shape(), s.howTrained(&s.settings)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "estimate   %s\n", needs(&needed.Memory)); err != nil {
		return err
	}
	if s.settings.InPlace {
		if _, err := fmt.Fprintf(out, "in place   %s\n", needed.InPlace()); err != nil {
			return err
		}
	}
	if refused == nil && warning != "" {
		_, refused = fmt.Fprintln(out, warning)
	}
	return refused
}

// shape describes the model's size.
func (o *options) shape() string {
	text := fmt.Sprintf("%d layers of width %d", o.layers, o.dim)
	if o.preset.family.text {
		text += fmt.Sprintf(", %d heads", o.heads)
		if o.kvHeads != 0 && o.kvHeads != o.heads {
			text += fmt.Sprintf(" on %d", o.kvHeads)
		}
		text += fmt.Sprintf(", %d tokens of %d", o.seq, o.vocab)
	}
	return text
}

// howTrained describes how it is trained.
func (o *options) howTrained(s *train.Settings) string {
	text := fmt.Sprintf("batch %d, %s", o.batch, s.Optimizer.Kind)
	for _, key := range []string{"checkpoint", "amp"} {
		if v := s.Values()[key]; v != "none" && v != "off" {
			text += ", " + key + " " + v
		}
	}
	return text
}

// object is what --json prints of a step.
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
}

func objectOf(e *train.Event) object {
	m := &e.Memory
	o := object{
		Step: e.Step, Loss: &e.Loss, Tokens: e.Tokens, StepTimeNS: e.Duration.Nanoseconds(), Skipped: e.Skipped,
		AllocatedBytes: m.Allocated, ReservedBytes: m.Reserved,
		PeakAllocated: m.PeakAllocated, PeakReservedBytes: m.PeakReserved,
		Categories: byName(m.Now.Category), CategoriesAtPeak: byName(m.AtPeak), HostBytes: byName(m.Host), Settings: e.Values(),
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
