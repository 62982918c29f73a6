package report

import (
	"strings"
	"testing"
)

// TestTheAnswerOfAFitSaysWhatToDoAndWhatIsNotEnough has a patch be whole, however narrow the screen is.
func TestTheAnswerOfAFitSaysWhatToDoAndWhatIsNotEnough(t *testing.T) {
	const gib, long = 1 << 30, "+for _name in [\"transformer.h.0\", \"transformer.h.1\", \"transformer.h.2\", \"transformer.h.3\", \"transformer.h.4\"]:"
	needs := int64(20 * gib)
	oom := &Shortage{Needs: &needs}
	tried := []Remedy{
		{Change: "expandable segments", DeviceBytes: 18 * gib},
		{Change: "autocast", Refused: "it has it"},
		{Change: "recomputing 3 of 12 blocks", DeviceBytes: 15 * gib, Fits: true},
	}
	for name, test := range map[string]struct {
		fit    Fit
		on     RehearsedOn
		has    []string
		absent string
	}{
		"it fits as it is": {
			Fit{Fits: true, DeviceBytes: 15 * gib, Left: gib, Rehearsals: 1},
			RehearsedOn{},
			[]string{"It fits as it is: 15.0 GiB on the device, 1.0 GiB left;", "  1 rehearsal\n"},
			"Not enough",
		},
		"a change makes it fit": {
			Fit{Fits: true, Change: "recomputing 3 of 12 blocks", Settings: "A=b", Patch: "--- a\n" + long + "\n", Fewest: true, Rehearsals: 7},
			RehearsedOn{OOM: oom, Tried: tried},
			[]string{
				"It fits with recomputing 3 of 12 blocks: ", "--fit 15.8GiB leaves room for it.", "    20.0 GiB,    4.0 GiB too much  as it is\n", "    18.0 GiB,    2.0 GiB too much  expandable segments\n",
				"not possible                       autocast: it has it\n", "One block fewer", "  Set  A=b\n", "\n--- a\n" + long + "\n",
			},
			"15.0 GiB,",
		},
		"nobody knows what it needs": {Fit{}, RehearsedOn{OOM: &Shortage{}}, []string{"What it needs is not known"}, "below"},
		"nothing does":               {Fit{}, RehearsedOn{OOM: oom, Tried: tried[:2]}, []string{"None of the changes below is enough.", "--vary"}, "It fits"},
	} {
		t.Run(name, func(t *testing.T) {
			test.fit.Total = 16 * gib
			var text strings.Builder
			p := newPage(&text, 80)
			test.fit.text(p, &test.on)
			if err := p.w.Flush(); err != nil {
				t.Fatal(err)
			}
			for _, has := range test.has {
				if !strings.Contains(text.String(), has) {
					t.Errorf("without %q:\n%s", has, text.String())
				}
			}
			if strings.Contains(text.String(), test.absent) {
				t.Errorf("with %q:\n%s", test.absent, text.String())
			}
		})
	}
}
