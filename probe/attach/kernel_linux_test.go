package attach

import (
	"testing"
	"time"
)

func TestTheKernelsLogSaysWhomItKilled(t *testing.T) {
	began := time.Unix(1000, 0)
	const group = "6,2043,36530115008,-;Memory cgroup out of memory: Killed process 19589 (python) total-vm:3785868kB\n SUBSYSTEM=x"
	for name, test := range map[string]struct {
		record string
		pid    int
		heard  time.Duration // after the machine began
		want   bool
	}{
		"a group":                 {group, 19589, 36529 * time.Second, true},
		"the machine":             {"3,7,36530115008,-;Out of memory: Killed process 19589 (python) total-vm:1kB", 19589, 36529 * time.Second, true},
		"another process":         {group, 1958, 36529 * time.Second, false},
		"an earlier one":          {group, 19589, 40000 * time.Second, false},
		"one long after the end":  {group, 19589, 36000 * time.Second, false},
		"what the kernel did not": {"6,1,36530115008,-;python[19589]: segfault at 0", 19589, 36529 * time.Second, false},
		"a continued line":        {"6,1,36530115008,-;something\n Killed process 19589 ", 19589, 36529 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := killedIn([]byte(test.record), test.pid, began, began.Add(test.heard)); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
