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

// ParseBytes reads a number of bytes, with or without a unit in any case: 2147483648,
// 2GiB, 2Gi and 2G are the same, and 2GB is 2 × 10^9 bytes.
func ParseBytes(text string) (int64, error) {
	number := strings.TrimRight(text, "BKMGTibkmgt")
	unit, base := strings.ToUpper(text[len(number):]), 1024.0
	letter := strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	if unit == letter+"B" {
		base = 1000
	}
	n, err := strconv.ParseFloat(number, 64)
	power := strings.Index(letters, letter) // the empty letter is at 0, bytes
	bytes := math.Round(n * math.Pow(base, float64(power)))
	if err != nil || !(bytes >= 0) || len(letter) > 1 || power < 0 || bytes >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size; write it like 512MiB, 4GiB or 4GB", text)
	}
	return int64(bytes), nil
}
