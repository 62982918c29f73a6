package program

import "fmt"

const units = "BKMGT"

// sizeText returns bytes for people, as "1.50 GiB".
func sizeText(n int64) string {
	f, unit := float64(n), 0
	for f >= 1024 && unit < len(units)-1 {
		f /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.2f %ciB", f, units[unit])
}
