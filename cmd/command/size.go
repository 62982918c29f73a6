package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a flag's number of bytes, with or without a unit: 2147483648, 2GiB,
// 2G and 1.5g are all understood; units are powers of 1024.
type Size int64

const units = "BKMGT"

// String returns the size as it can be given again.
func (s *Size) String() string {
	n, unit := int64(*s), 0
	for n != 0 && n%1024 == 0 && unit < len(units)-1 {
		n /= 1024
		unit++
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10) + units[unit:unit+1] + "iB"
}

// Set reads a size.
func (s *Size) Set(text string) error {
	number := strings.TrimRight(text, "BKMGTibkmgt")
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text[len(number):]), "B"), "I")
	n, err := strconv.ParseFloat(number, 64)
	power := strings.Index(units, unit) // the empty unit is at 0, bytes
	if err != nil || !(n >= 0) || len(unit) > 1 || power < 0 || n*math.Pow(1024, float64(power)) >= math.MaxInt64 {
		return fmt.Errorf("%q is not a size; write it like 512MiB or 4GiB", text)
	}
	*s = Size(n * math.Pow(1024, float64(power)))
	return nil
}

// Type names the flag's type in help.
func (s *Size) Type() string { return "SIZE" }
