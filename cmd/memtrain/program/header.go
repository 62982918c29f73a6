package program

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// lineWidth is the width to which memtrain folds its lines, except those about
// steps.
const lineWidth = 80

// labelWidth is the width of the label before a line.
const labelWidth = 11

// fold prints parts with a space between them, in as many lines as they need,
// after a label and indented by its width. It breaks lines only between parts.
func fold(out io.Writer, label string, parts ...string) error {
	line, text := fmt.Sprintf("%-*s", labelWidth, label), ""
	for i, part := range parts {
		if i > 0 && len(line)+1+len(part) > lineWidth {
			text += strings.TrimRight(line, " ") + "\n"
			line = strings.Repeat(" ", labelWidth-1)
		}
		if i > 0 {
			line += " "
		}
		line += part
	}
	_, err := fmt.Fprintln(out, text+line)
	return err
}

// announce prints what the run trains and, from a rehearsed step, the memory that
// it will need. It fails if there is less memory.
func (s *session) announce(ctx context.Context, out io.Writer) error {
	needed, warning, refused := s.checkFit(ctx)
	if s.asJSON {
		return refused
	}
	if s.without != nil {
		if err := fold(out, "device", strings.Fields(fmt.Sprintf("%s, because %v", s.machine.Name(), s.without))...); err != nil {
			return err
		}
	}
	if err := s.printHeader(out); err != nil {
		return err
	}
	if m, ok := s.machine.(interface{ Products() string }); ok {
		if err := fold(out, "products", strings.Fields(m.Products())...); err != nil {
			return err
		}
	}
	if err := printNeeds(out, "estimate", &needed.Memory); err != nil {
		return err
	}
	if refused == nil && warning != "" {
		_, refused = fmt.Fprintln(out, warning)
	}
	return refused
}

// printHeader says what the run trains, where and how.
func (s *session) printHeader(out io.Writer) error {
	if err := fold(out, "model", append([]string{s.options.model + ":"}, strings.Fields(s.shape())...)...); err != nil {
		return err
	}
	place := fmt.Sprintf("on %s of %s", s.machine.Name(), sizeText(s.capacity))
	return fold(out, "training", listed(append([]string{place}, s.howTrained(&s.settings, s.half)...))...)
}

// listed puts commas between parts.
func listed(parts []string) []string {
	list := slices.Clone(parts)
	for i := range len(list) - 1 {
		list[i] += ","
	}
	return list
}

// shape describes the model's size.
func (o *options) shape() string {
	text := fmt.Sprintf("%s of width %d", quantity.Plural(o.layers, "layer"), o.dim)
	if o.preset.family.text {
		text += fmt.Sprintf(", %d heads", o.heads)
		if o.kvHeads != 0 && o.kvHeads != o.heads {
			text += fmt.Sprintf(" on %d", o.kvHeads)
		}
		text += fmt.Sprintf(", %d tokens of %d", o.seq, o.vocab)
	}
	return text
}

// howTrained names the batch, the optimizer and every setting that is not the
// default.
func (o *options) howTrained(s *train.Settings, h half) []string {
	batch := fmt.Sprintf("batch %d", o.batch)
	if o.world() > 1 {
		batch += fmt.Sprintf(" over %d processes", o.world())
	}
	list := []string{batch, s.Optimizer.Kind.String()}
	for _, v := range s.Chosen() {
		list = append(list, v.Key+"="+v.Value)
	}
	if h != "" {
		list = append(list, "half="+h.String())
	}
	if o.dropout != 0 {
		list = append(list, fmt.Sprintf("dropout=%g", o.dropout))
	}
	return list
}

// printNeeds prints how much memory a step takes at its highest moment, in parts
// that add up to it, and then the memory that is not part of it.
func printNeeds(out io.Writer, label string, m *train.Memory) error {
	rounding, sum := m.PeakAllocated, []string{sizeText(m.PeakAllocated) + " peak"}
	sign, elsewhere := "= ", []string(nil)
	add := func(n int64, name string) {
		if n > 0 {
			sum = append(sum, sign+sizeText(n)+" "+name)
			sign = "+ "
		}
	}
	for _, c := range trace.Categories {
		rounding -= m.AtPeak[c]
		add(m.AtPeak[c], c.String())
		if m.Highest[c] > m.AtPeak[c] {
			elsewhere = append(elsewhere, sizeText(m.Highest[c])+" "+c.String())
		}
	}
	add(rounding, "rounding")
	if err := fold(out, label, sum...); err != nil {
		return err
	}
	if len(elsewhere) > 0 {
		if err := fold(out, "", append([]string{"at other moments up to"}, listed(elsewhere)...)...); err != nil {
			return err
		}
	}
	rest := []string{sizeText(m.PeakReserved) + " reserved"}
	if host := total(&m.Host); host > 0 {
		rest = append(rest, sizeText(host)+" on the host")
	}
	return fold(out, "", listed(rest)...)
}

// total adds the bytes of all categories up.
func total(bytes *[trace.CategoryCount]int64) (sum int64) {
	for _, n := range bytes {
		sum += n
	}
	return sum
}
