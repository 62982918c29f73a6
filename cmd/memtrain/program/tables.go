package program

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// checkTables refuses a table where only JSON is printed.
func (o *options) checkTables() error {
	if o.asJSON && o.layersTable {
		return usagef("--layers-table is text, and --json is not")
	}
	return nil
}

// printTables prints the layers of the last step of a run that has ended, if that was
// requested.
func (s *session) printTables(out io.Writer) error {
	if !s.layersTable || s.trainer.Steps() == 0 {
		return nil
	}
	return progressed(s.printLayers(out))
}

// printLayers prints a line for each layer, in the order in which they ran. Bytes
// and times of a layer include those of the layers in it. The exceptions are its
// parameters and "saved", the memory that its own operations keep for the
// backward pass.
func (s *session) printLayers(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "layer\tclass\tshape\ttype\tdevice\tparameters\toutput\tsaved\tforward\tbackward\tagain")
	for _, l := range s.trainer.Layers() {
		name := l.Name
		if name == "" {
			name = "(model)"
		}
		again := ""
		if l.Checkpointed {
			again = milliseconds(l.RecomputeNS)
		}
		where := s.device.Name()
		if l.OnHost {
			where = s.device.Host().Name()
		}
		fmt.Fprintf(table, "%s\t%s\t%v\t%v\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, l.Class, l.OutputShape, l.DType, where,
			sizeText(l.ParameterBytes), sizeText(l.OutputBytes), sizeText(l.SavedBytes),
			milliseconds(l.ForwardNS), milliseconds(l.BackwardNS), again)
	}
	return table.Flush()
}

func milliseconds(ns int64) string {
	return fmt.Sprintf("%.2f ms", float64(ns)/float64(time.Millisecond))
}
