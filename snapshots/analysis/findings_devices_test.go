package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
)

// TestADeviceThatHoldsMoreThanTheOthersIsNamed has weights on two or more devices.
func TestADeviceThatHoldsMoreThanTheOthersIsNamed(t *testing.T) {
	const frames = `
frame main "/home/me/train.py" 10 "main"
frame load "/env/site-packages/torch/nn/modules/linear.py" 50 "__init__"
stack weights load main
stack main main
`
	const parallel = `frame apply "/env/site-packages/torch/nn/parallel/parallel_apply.py" 60 "parallel_apply"` + "\n"
	const hooks = `frame hooks "/env/site-packages/accelerate/hooks.py" 60 "new_forward"` + "\n"
	// held has the mebibytes of each device, and which of them ran out of memory.
	held := func(out int, mebibytes ...int64) string {
		var text strings.Builder
		for d, n := range mebibytes {
			fmt.Fprintf(&text, "device %d\n", d)
			for k := range 8 {
				fmt.Fprintf(&text, "alloc 0x%x %d stack=weights\n", (k+1)<<32, n<<20/8)
			}
			if d == out {
				text.WriteString("alloc 0x1000000000 10737418240 stack=main\noom 0 1073741824 stack=main\n")
			}
		}
		return text.String()
	}
	for name, test := range map[string]struct {
		text   string
		device int    // that is named, −1 for none
		says   string // of the whole finding
		saved  int64  // MiB
	}{
		"a split model":          {frames + held(-1, 800, 200), 0, "Device 0 holds 800.0 MiB at its peak, 600.0 MiB more than device 1: parameter +600.0 MiB. Moving 300.0 MiB to device 1 evens them", 300},
		"the last device":        {frames + held(-1, 200, 400, 800, 200), 2, "600.0 MiB more than the median of 3 others: parameter +600.0 MiB. Moving 400.0 MiB to device 3", 400},
		"a map of devices":       {hooks + frames + held(-1, 800, 200), 0, "A device_map that gives 300.0 MiB to device 1 evens them", 300},
		"DataParallel":           {parallel + frames + held(-1, 800, 200), 0, "nn.DataParallel keeps", 0},
		"one that ran out":       {frames + held(0, 160, 80), 0, "10.1 GiB more than device 1, and ran out of memory: other +10.0 GiB. Moving a part to device 1 evens them", 0},
		"less than a fifth more": {frames + held(-1, 800, 648), -1, "", 0},
		"alike":                  {frames + held(-1, 800, 800), -1, "", 0},
		"little":                 {frames + held(-1, 80, 40), -1, "", 0},
		"one that does not work": {frames + held(-1, 8000, 100), -1, "", 0},
		"a device of its own":    {frames + held(-1, 800), -1, "", 0},
		"nothing on any":         {frames + "device 0\ndevice 1\n", -1, "", 0},
		"one of two has nothing": {frames + "device 0\nalloc 0x1000 1073741824 stack=main\ndevice 1\n", -1, "", 0},
		"one ran out, with no part of the weights elsewhere": {frames + held(0, 160) + "device 1\nalloc 0x1000 1048576 stack=main\n", -1, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			all := Indexes(tracetest.Parse(t, test.text))
			fullest, found := Uneven(all)
			switch {
			case test.device < 0:
				if found != nil || fullest != nil {
					t.Fatalf("got %q", found.Text())
				}
			case found == nil || fullest.device.ID != test.device || !strings.Contains(found.Text(), test.says) || found.Saving != test.saved<<20:
				t.Fatalf("got %+v", found)
			}
			if fullest == nil {
				return
			}
			if with := fullest.FindingsWith(Beside{Uneven: found}); len(with) != len(fullest.Findings())+1 {
				t.Errorf("it is not among the findings: %+v", with)
			}
		})
	}
}
