package program

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/memtop/memtop/snapshots/quantity"
)

// Text prints the report for people: the memory of each rank and its purposes,
// and the devices on which the run fits, as requested and with changes.
func (r *EstimateReport) Text(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n%s parameters\n\n", r.Model, r.about, quantity.Count(int(r.Parameters)))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	r.sources(table)
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n")
	table = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	r.fits(table)
	return table.Flush()
}

// sources prints the memory of the largest rank by source, at the rank's peak and
// at each source's own.
func (r *EstimateReport) sources(w io.Writer) {
	k := &r.Ranks[0] // all need the same
	fmt.Fprintln(w, "\tat the peak\tat most\t")
	for _, name := range sourceNames() {
		if most, known := k.Highest[name]; most != 0 {
			fmt.Fprintf(w, "%s\t%s\t%s\t\n", name, quantity.Bytes(k.Sources[name]), quantity.Bytes(most))
		} else if !known {
			fmt.Fprintf(w, "%s\t%s\t\t\n", name, quantity.Bytes(k.Sources[name]))
		}
	}
	fmt.Fprintf(w, "allocated\t%s\t\t\n", quantity.Bytes(k.PeakAllocated))
	fmt.Fprintf(w, "reserved\t%s\t\t\n", quantity.Bytes(k.PeakReserved))
}

// fits prints a row for the run as requested, and a row for each technique.
func (r *EstimateReport) fits(w io.Writer) {
	var sizes []string
	for _, s := range deviceSizes {
		sizes = append(sizes, s.name)
	}
	fmt.Fprintf(w, "fits on\treserved\t%s\n", strings.Join(sizes, "\t"))
	row := func(name string, reserved int64, fits map[string]bool) {
		fmt.Fprintf(w, "%s\t%s", name, quantity.Bytes(reserved))
		for _, size := range sizes {
			fmt.Fprint(w, "\t", map[bool]string{true: "yes", false: "-"}[fits[size]])
		}
		fmt.Fprintln(w)
	}
	row("as asked", r.Ranks[0].PeakReserved, r.Fits)
	for i := range r.Techniques {
		t := &r.Techniques[i]
		row(t.name(), t.PeakReserved, t.Fits)
	}
}

// name returns the technique's name in a table. Techniques that are combined
// continue the row above.
func (t *Technique) name() string {
	switch last := len(t.words) - 1; last {
	case 0:
		return t.words[0]
	case 1:
		return t.words[0] + " and " + t.words[1]
	default:
		return "  and " + t.words[last]
	}
}
