package analysis

import "strconv"

// Bytes writes a size for people: 1024-based, three digits.
func Bytes(n int64) string {
	if n > -1024 && n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	sign, value, unit := "", float64(n), 0
	if n < 0 {
		sign, value = "-", -value
	}
	for value >= 1023.95 && unit < 5 {
		value /= 1024
		unit++
	}
	digits := 2
	switch {
	case value >= 99.95:
		digits = 0
	case value >= 9.995:
		digits = 1
	}
	return sign + strconv.FormatFloat(value, 'f', digits, 64) + " " + "KMGTP"[unit-1:unit] + "iB"
}
