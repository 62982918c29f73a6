package program

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/trace"
)

// comparison is memtrain compare: the same run with several settings.
type comparison struct {
	options
	cases    string
	markdown bool
}

func compareCommand(stdout *command.Output, reach Reach) *cobra.Command {
	c := &comparison{options: options{reach: reach, probe: "off", blackBox: "off", ranks: ranksOff}}
	cmd := &cobra.Command{
		Use:   "compare --settings \"none; checkpoint=block; …\"",
		Short: "Train with several settings in turn, and compare memory, time and loss",
		Long: `Train the same model from the same beginning on the same samples with each of
some settings, and print what each took beside the first: the peak of allocated
memory, the time of a step, the loss of the last one.

Each run begins with an empty device. The first step is not counted: it fills
the allocator's cache. The time is that of the quickest of the others.`,
		Example: `  memtrain compare --settings "none; checkpoint=block; amp=bf16; checkpoint=block amp=bf16"
  memtrain compare --model llama --seq 256 --settings "none; offload=optimizer; half" --steps 10 --markdown`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context(), stdout, cmd.ErrOrStderr()) },
	}
	f := cmd.Flags()
	c.begin(f)
	f.StringVar(&c.cases, "settings", "none; checkpoint=block; amp=bf16", "`SETTINGS` to train with, as KEY=VALUE KEY=VALUE; none is what the other flags say")
	c.registerRun(f)
	f.Int64Var(&c.steps, "steps", 6, "steps of each run")
	f.BoolVar(&c.markdown, "markdown", false, "print a table in Markdown")
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	return cmd
}

// compared is a run of a comparison. A value that is not known is null: the
// values of a run that did not fit, and values relative to the first run if that
// one did not fit.
type compared struct {
	Settings      string   `json:"settings"`
	PeakAllocated *int64   `json:"peak_allocated_bytes"`
	PeakReserved  *int64   `json:"peak_reserved_bytes"`
	Saved         *float64 `json:"saved_percent"`
	StepTimeNS    *int64   `json:"step_time_ns"`
	Slowdown      *float64 `json:"slowdown_percent"`
	Loss          *float64 `json:"loss"` // of the last step; null when it is not a number
	LossChange    *float64 `json:"loss_difference"`
	Error         string   `json:"error,omitempty"` // why it did not run
}

// run trains with one setting after the other.
func (c *comparison) run(ctx context.Context, stdout *command.Output, stderr io.Writer) error {
	list, err := c.parse()
	if err != nil {
		return err
	}
	table := &comparisonTable{out: stdout, markdown: c.markdown, silent: c.asJSON, cases: list}
	rows := make([]compared, 0, len(list))
	for _, changes := range list {
		row, err := c.one(ctx, changes, stderr, table)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			row.beside(&rows[0])
		}
		rows = append(rows, row)
		if err := table.row(&row); err != nil {
			return err
		}
	}
	if c.asJSON {
		e := json.NewEncoder(stdout.JSON())
		e.SetIndent("", "  ")
		return e.Encode(rows)
	}
	return nil
}

// halfKey stands among settings for the flag --half.
const halfKey = "half"

// parse reads --settings, and checks keys and values before anything is trained.
func (c *comparison) parse() ([][]trace.Value, error) {
	if c.steps < 2 {
		return nil, usagef("--steps %d: want at least 2, since the first is not counted", c.steps)
	}
	var list [][]trace.Value
	for text := range strings.SplitSeq(c.cases, ";") {
		changes := []trace.Value{}
		for word := range strings.FieldsSeq(text) {
			key, value, given := strings.Cut(word, "=")
			switch {
			case word == "none":
				continue
			case key == halfKey:
				chosen := defaultHalf
				if given {
					if err := chosen.Set(value); err != nil {
						return nil, usagef("--settings: %v", err)
					}
				}
				value = string(chosen)
			case !given:
				return nil, usagef("--settings: %q: want KEY=VALUE, none or half", word)
			default:
				if _, err := train.DefaultSettings().With(key, value); err != nil {
					return nil, usagef("--settings: %v", err)
				}
			}
			changes = append(changes, trace.Value{Key: key, Value: value})
		}
		list = append(list, changes)
	}
	return list, nil
}

// one trains one run from the beginning. If the run does not fit, its row says
// so.
func (c *comparison) one(ctx context.Context, changes []trace.Value, stderr io.Writer, table *comparisonTable) (compared, error) {
	row := compared{Settings: settingsText(changes)}
	o := c.options
	o.asJSON = true // it announces nothing
	if i := slices.IndexFunc(changes, func(v trace.Value) bool { return v.Key == halfKey }); i >= 0 {
		o.half = half(changes[i].Value)
	}
	s := &session{options: &o, stderr: stderr, changes: changes}
	defer s.close()
	err := s.open(ctx, command.NewOutput(io.Discard))
	if s.machine != nil {
		err = errors.Join(err, table.begin(s, c.half))
	}
	if err == nil {
		err = row.measure(ctx, s)
	}
	var oom *train.OutOfMemoryError
	var refused unfitError
	if errors.As(err, &oom) || errors.As(err, &refused) {
		row.Error, err = err.Error(), nil
	}
	return row, err
}

func settingsText(changes []trace.Value) string {
	if len(changes) == 0 {
		return "none"
	}
	var words []string
	for _, v := range changes {
		words = append(words, v.Key+"="+v.Value)
	}
	return strings.Join(words, " ")
}

// measure trains, and notes the cost of the steps after the first.
func (r *compared) measure(ctx context.Context, s *session) error {
	var allocated, reserved, quickest int64 = 0, 0, math.MaxInt64
	for s.trainer.Steps() < s.steps {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		e, err := s.trainer.Step(ctx)
		if err != nil {
			return err
		}
		if e.Step > 1 {
			allocated, reserved = max(allocated, e.Memory.PeakAllocated), max(reserved, e.Memory.PeakReserved)
			quickest = min(quickest, e.Duration.Nanoseconds())
		}
		if r.Loss = &e.Loss; math.IsNaN(e.Loss) || math.IsInf(e.Loss, 0) {
			r.Loss = nil
		}
	}
	r.PeakAllocated, r.PeakReserved, r.StepTimeNS = &allocated, &reserved, &quickest
	return nil
}

// beside fills in the values relative to the first run.
func (r *compared) beside(first *compared) {
	if r.PeakAllocated == nil || first.PeakAllocated == nil {
		return
	}
	saved := 100 * (1 - float64(*r.PeakAllocated)/float64(*first.PeakAllocated))
	slowdown := 100 * (float64(*r.StepTimeNS)/float64(*first.StepTimeNS) - 1)
	r.Saved, r.Slowdown = &saved, &slowdown
	if r.Loss != nil && first.Loss != nil {
		change := *r.Loss - *first.Loss
		r.LossChange = &change
	}
}

// comparisonTable prints rows as they come.
type comparisonTable struct {
	out              io.Writer
	markdown, silent bool
	cases            [][]trace.Value
	begun            bool
}

// begin prints what all rows have in common, the model and how the flags train
// it, and then the column headings.
func (t *comparisonTable) begin(s *session, h half) error {
	if t.silent || t.begun {
		return nil
	}
	t.begun = true
	common, err := s.change(train.DefaultSettings())
	if err != nil {
		return err
	}
	heads := []string{"settings", "peak", "saved", "step time", "slowdown", "loss", "difference"}
	if !t.markdown {
		return errors.Join(s.header(&common, h).print(t.out), t.line(heads...))
	}
	_, err = fmt.Fprintf(t.out, "%s\n\n", s.header(&common, h))
	return errors.Join(err, t.line(heads...), t.line("---", "---:", "---:", "---:", "---:", "---:", "---:"))
}

func (t *comparisonTable) row(r *compared) error {
	if t.silent {
		return nil
	}
	if r.Error != "" {
		return t.line(r.Settings, "does not fit", "", "", "", "", "")
	}
	loss := "not a number"
	if r.Loss != nil {
		loss = fmt.Sprintf("%.4f", *r.Loss)
	}
	return t.line(r.Settings, sizeText(*r.PeakAllocated), number("%.1f %%", r.Saved),
		fmt.Sprintf("%.1f ms", float64(*r.StepTimeNS)/1e6), number("%+.1f %%", r.Slowdown), loss, number("%+.1e", r.LossChange))
}

// line prints cells, the first as wide as the longest of its column.
func (t *comparisonTable) line(cells ...string) error {
	if t.markdown {
		_, err := fmt.Fprintln(t.out, "| "+strings.Join(cells, " | ")+" |")
		return err
	}
	width := len("settings")
	for _, changes := range t.cases {
		width = max(width, len(settingsText(changes)))
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%-*s", width, cells[0])
	for _, cell := range cells[1:] {
		fmt.Fprintf(&line, "  %12s", cell)
	}
	_, err := fmt.Fprintln(t.out, strings.TrimRight(line.String(), " "))
	return err
}

// number prints a known value; no difference prints as 0.
func number(format string, x *float64) string {
	switch {
	case x == nil:
		return ""
	case *x == 0:
		return "0"
	}
	return fmt.Sprintf(format, *x)
}
