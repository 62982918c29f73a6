package report

import (
	"strings"
	"testing"
)

func TestAnUpgradeSaysHowMuchMoreItTakes(t *testing.T) {
	const gib = 1 << 30
	rehearsal := func(release string, bytes int64) *Rehearsal {
		return &Rehearsal{
			Command: []string{"/env/" + release + "/python", "train.py"}, PyTorch: release, Fits: bytes < 20*gib, Bound: BoundExact,
			Ranks: []RehearsedOn{{PeakAllocated: bytes - 2*gib, PeakReserved: bytes - gib, DeviceBytes: bytes}},
		}
	}
	for name, test := range map[string]struct {
		after int64
		has   []string
	}{
		"more":     {12 * gib, []string{"It takes 2.0 GiB (20.0 %) more on the device.", "/env/2.15.0/python\n", "after   2.15.0              10.0 GiB      11.0 GiB      12.0 GiB\n"}},
		"less":     {9 * gib, []string{"It takes 1.0 GiB (10.0 %) less on the device."}},
		"the same": {10 * gib, []string{"It takes the same on the device."}},
		"too much": {20 * gib, []string{"20.0 GiB  does not fit\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			u := NewUpgrade(rehearsal("2.6.0", 10*gib), rehearsal("2.15.0", test.after), &Diff{})
			if err := u.Text(&text, 80); err != nil {
				t.Fatal(err)
			}
			for _, has := range append(test.has, "No difference.\n") {
				if !strings.Contains(text.String(), has) {
					t.Errorf("without %q:\n%s", has, text.String())
				}
			}
		})
	}
}
