package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a flag's number of bytes, written with or without a unit: 1073741824,
// 1GiB, 1G and 1.5g are all understood; units are powers of 1024.
type size int64

var units = []string{"B", "K", "M", "G", "T"}

// String returns the size as it can be given again.
func (s *size) String() string {
	n, unit := int64(*s), 0
	for n != 0 && n%1024 == 0 && unit < len(units)-1 {
		n /= 1024
		unit++
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10) + units[unit] + "iB"
}

// Set reads a size.
func (s *size) Set(text string) error {
	number := strings.TrimRight(text, "BKMGTibkmgt")
	unit := strings.ToUpper(strings.TrimSpace(text[len(number):]))
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is no size; write it like 512MiB or 4GiB", text)
	}
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	for i, u := range units {
		if unit == u || unit == "" && i == 0 {
			bytes := n * math.Pow(1024, float64(i))
			if bytes >= math.MaxInt64 {
				return fmt.Errorf("%q is too large", text)
			}
			*s = size(bytes)
			return nil
		}
	}
	return fmt.Errorf("%q has an unknown unit; write it like 512MiB or 4GiB", text)
}

// Type names the flag's type in help.
func (s *size) Type() string { return "SIZE" }
