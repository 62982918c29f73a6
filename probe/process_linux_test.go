package probe

import (
	"testing"
	"time"
)

// TestABusyMachineMakesNoProcessOlder lets another process run between the two
// clocks, at all readings but one.
func TestABusyMachineMakesNoProcessOlder(t *testing.T) {
	boot := time.Unix(1_700_000_000, 0)
	for quiet := range readings {
		day, reading := boot.Add(time.Hour), 0
		now := func() time.Time { return day }
		sinceBoot := func() (time.Duration, error) {
			if reading != quiet {
				day = day.Add(50 * time.Millisecond)
			}
			reading++
			return day.Sub(boot), nil
		}
		if got, err := bootTime(now, sinceBoot); err != nil || !got.Equal(boot) {
			t.Errorf("reading %d is quiet: the machine began %v too early, %v", quiet, boot.Sub(got), err)
		}
	}
}
