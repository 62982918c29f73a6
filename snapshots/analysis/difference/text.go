package difference

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Name describes a cause in a few words.
func (c *Cause) Name() string {
	switch c.Kind {
	case Scaled:
		if c.Factor == ofTypes[0] {
			return "half as large"
		}
		return c.Factor.String() + " times as large"
	case Cast:
		return "copies that autocast makes"
	case Moved:
		return "from another line, of the same sizes"
	case Recomputed:
		return "made again by checkpointing"
	case OtherMoment:
		return "held at only one of the moments"
	case Appeared:
		return c.Category.String() + ", only after"
	default:
		return c.Category.String() + ", only before"
	}
}

// Text describes a cause in a sentence or two.
func (d *Difference) Text(c *Cause) string {
	var text string
	switch c.Kind {
	case Scaled:
		text = d.scaledText(c)
	case Cast:
		text = "Copies that autocast makes: " + change(c) + d.onlyIn(traits.Autocast, "; autocast runs")
	case Moved:
		text = fmt.Sprintf("From another line, with the same sizes: %s, %s", quantity.Plural(c.Row.Count[0], "allocation"), quantity.Bytes(c.Row.Bytes[0]))
	case Recomputed:
		text = "Kept on one side, made again by checkpointing on the other: " + change(c)
	case OtherMoment:
		text = "Allocated on both sides, and held at only one of the two moments: " + change(c) + d.onlyIn(traits.Backward, "; a backward pass runs")
	case Appeared:
		text = "Only after, " + c.Category.String() + ": " + change(c)
	default:
		text = "Only before, " + c.Category.String() + ": " + change(c)
		if c.Category == trace.Activation {
			text += d.onlyIn(traits.Checkpoints, "; checkpointing runs")
		}
	}
	return text + from(c)
}

// scaledText says by what the sizes changed and what makes such a change.
func (d *Difference) scaledText(c *Cause) string {
	f := c.Factor
	text := f.String() + " times as large: "
	if f == (Factor{1, 2}) {
		text = "Half as large: "
	}
	text += change(c)
	switch amp := cmp.Or(d.typesText(c), d.onlyIn(traits.Autocast, "autocast runs")); {
	case amp != "" && (f == ofTypes[0] || f == ofTypes[1]):
		return text + "; " + amp
	case c.Square:
		return text + ", the square of another factor, as sequence by sequence has"
	default:
		return text + ", as with a batch or a sequence " + f.String() + " times as long"
	}
}

// typesText says that the element types of most of a cause are others, "" otherwise.
func (d *Difference) typesText(c *Cause) string {
	var names [2]string
	for side, types := range c.types {
		var most int64
		for dtype, bytes := range types {
			if bytes > most {
				names[side], most = d.Merged.common.String(dtype), bytes
			}
		}
	}
	if names[0] == names[1] || names[0] == "" || names[1] == "" {
		return ""
	}
	return names[0] + " before, " + names[1] + " after"
}

// onlyIn says that something runs on one side and not on the other, "" otherwise.
func (d *Difference) onlyIn(what traits.Set, runs string) string {
	switch before, after := d.traits[0]&what, d.traits[1]&what; {
	case after > before:
		return runs + " after and not before"
	case before > after:
		return runs + " before and not after"
	}
	return ""
}

// change says how much a cause is before and after.
func change(c *Cause) string {
	if c.Row.Count[0] == 0 || c.Row.Count[1] == 0 {
		return fmt.Sprintf("%s, %s", quantity.Plural(c.Row.Count[0]+c.Row.Count[1], "allocation"), quantity.Bytes(c.Row.Bytes[0]+c.Row.Bytes[1]))
	}
	if c.Row.Count[0] == c.Row.Count[1] {
		return fmt.Sprintf("%s, %s before, %s after", quantity.Plural(c.Row.Count[0], "allocation"), quantity.Bytes(c.Row.Bytes[0]), quantity.Bytes(c.Row.Bytes[1]))
	}
	return fmt.Sprintf("%s in %s before, %s in %s after", quantity.Bytes(c.Row.Bytes[0]), quantity.Count(c.Row.Count[0]), quantity.Bytes(c.Row.Bytes[1]), quantity.Count(c.Row.Count[1]))
}

// namedLines is how many lines a cause names.
const namedLines = 3

// from names the lines that a cause is mostly from.
func from(c *Cause) string {
	names := make([]string, 0, namedLines)
	for i := range c.Lines[:min(namedLines, len(c.Lines))] {
		names = append(names, c.Lines[i].Name)
	}
	text := "; from " + strings.Join(names, ", ")
	if more := len(c.Lines) - len(names); more > 0 {
		text += " and " + quantity.Plural(more, "more line")
	}
	return text + "."
}
