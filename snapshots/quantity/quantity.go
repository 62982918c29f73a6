// Package quantity writes sizes and counts in the form that messages, reports and
// screens share.
package quantity

import (
	"strconv"
	"strings"
)

var units = [...]string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// Bytes writes a size as B, KiB, MiB, GiB … with one decimal, like "1.5 GiB".
func Bytes(n int64) string {
	sign := ""
	u := uint64(n)
	if n < 0 {
		sign, u = "-", -u
	}
	if u < 1024 {
		return sign + strconv.FormatUint(u, 10) + " B"
	}
	value, unit := float64(u)/1024, 0
	for value >= 1023.95 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return sign + strconv.FormatFloat(value, 'f', 1, 64) + " " + units[unit]
}

// Count writes n with a comma between thousands.
func Count(n int) string {
	digits := strconv.Itoa(n)
	start := 0
	if n < 0 {
		start = 1
	}
	if len(digits)-start <= 3 {
		return digits
	}
	var b strings.Builder
	for i := range len(digits) {
		if i > start && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// Plural writes n things, given the name of one.
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + one + "s"
}
