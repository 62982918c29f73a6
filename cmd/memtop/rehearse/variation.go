package rehearse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Variation is a name in a command and the values that it takes, ascending.
type Variation struct {
	Name   string
	values []int64
}

// String returns nothing: a variation has no default.
func (v *Variation) String() string { return "" }

// Type names what follows the flag.
func (v *Variation) Type() string { return "NAME=VALUES" }

// mostValues is how many values may be varied over.
const mostValues = 1 << 20

// Set reads NAME=1..64 or NAME=1,2,4.
func (v *Variation) Set(text string) error {
	name, values, is := strings.Cut(text, "=")
	if !is || name == "" {
		return fmt.Errorf("want NAME=FIRST..LAST or NAME=VALUE,VALUE")
	}
	v.Name, v.values = name, nil
	first, last, isRange := strings.Cut(values, "..")
	if !isRange {
		for value := range strings.SplitSeq(values, ",") {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return fmt.Errorf("%q is no whole number", value)
			}
			v.values = append(v.values, n)
		}
		slices.Sort(v.values)
		v.values = slices.Compact(v.values)
		return nil
	}
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no whole number", first)
	}
	to, err := strconv.ParseInt(last, 10, 64)
	if err != nil || to < from || to-from >= mostValues {
		return fmt.Errorf("%q does not end a range from %d of at most %d", last, from, mostValues)
	}
	for n := from; n <= to; n++ {
		v.values = append(v.values, n)
	}
	return nil
}

// in returns a command with a value in place of the name.
func (v *Variation) in(args []string, value int64) []string {
	replaced := make([]string, len(args))
	for i, arg := range args {
		replaced[i] = strings.ReplaceAll(arg, "{"+v.Name+"}", strconv.FormatInt(value, 10))
	}
	return replaced
}
