package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const letters = "BKMGT"

// Exact writes a size so that [ParseBytes] reads it again: in the largest unit of
// which it is a whole number, like "96MiB".
func Exact(n int64) string {
	unit := 0
	for n != 0 && n%1024 == 0 && unit < len(letters)-1 {
		n /= 1024
		unit++
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10) + letters[unit:unit+1] + "iB"
}

// ParseBytes reads a number of bytes, with or without a unit: 2147483648, 2GiB,
// 2G and 1.5g are all understood; units are powers of 1024.
func ParseBytes(text string) (int64, error) {
	number := strings.TrimRight(text, "BKMGTibkmgt")
	unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text[len(number):]), "B"), "I")
	n, err := strconv.ParseFloat(number, 64)
	power := strings.Index(letters, unit) // the empty unit is at 0, bytes
	if err != nil || !(n >= 0) || len(unit) > 1 || power < 0 || n*math.Pow(1024, float64(power)) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size; write it like 512MiB or 4GiB", text)
	}
	return int64(n * math.Pow(1024, float64(power))), nil
}
