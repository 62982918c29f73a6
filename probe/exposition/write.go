package exposition

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
)

// Kind is the meaning of a family's values.
type Kind int

// The kinds that are in use.
const (
	Gauge   Kind = iota // goes up and down
	Counter             // only goes up, from when its program began
)

// kinds has, for each kind, its name and the suffix of its samples' names.
var kinds = [...]struct{ name, suffix string }{
	Gauge:   {"gauge", ""},
	Counter: {"counter", "_total"},
}

// Family is a metric with all of its samples. Name, Unit and Help are the
// program's own texts and need no escapes; the name ends in the unit, if there
// is one, and does not end in _total.
type Family struct {
	Name    string
	Kind    Kind
	Unit    string
	Help    string
	Samples []Sample // no two with the same labels
}

// Sample is one value. Labels are names and values in turn; a value may be any
// text.
type Sample struct {
	Labels []string
	Value  float64
}

// Write writes the families that have samples.
func Write(w io.Writer, f Format, families []Family) error {
	out := bufio.NewWriter(w)
	for i := range families {
		if family := &families[i]; len(family.Samples) > 0 {
			family.writeHead(out, f)
			family.writeSamples(out)
		}
	}
	if f == OpenMetrics {
		_, _ = out.WriteString("# EOF\n") // Flush returns the error of this and what came before
	}
	return out.Flush()
}

func (f *Family) writeHead(out *bufio.Writer, format Format) {
	line := func(words ...string) { _, _ = out.WriteString("# " + strings.Join(words, " ") + "\n") }
	name := f.Name
	if format == Text {
		name += kinds[f.Kind].suffix // each name has its own metadata there
	}
	line("HELP", name, f.Help)
	line("TYPE", name, kinds[f.Kind].name)
	if format == OpenMetrics && f.Unit != "" {
		line("UNIT", name, f.Unit)
	}
}

func (f *Family) writeSamples(out *bufio.Writer) {
	name := f.Name + kinds[f.Kind].suffix
	for _, s := range f.Samples {
		_, _ = out.WriteString(name)
		begin := "{"
		for i := 0; i < len(s.Labels); i += 2 {
			_, _ = out.WriteString(begin + s.Labels[i] + `="` + escape(s.Labels[i+1]) + `"`)
			begin = ","
		}
		if len(s.Labels) > 0 {
			_ = out.WriteByte('}')
		}
		_, _ = out.WriteString(" " + strconv.FormatFloat(s.Value, 'g', -1, 64) + "\n")
	}
}

var escapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func escape(label string) string { return escapes.Replace(trace.PrintableLines(label)) }
