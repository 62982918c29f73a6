package stacks

import "testing"

func TestNamesOfTwoFilesAreToldApart(t *testing.T) {
	tests := map[string]struct{ before, after, wantBefore, wantAfter string }{
		"both fit":                {"before.pickle", "after.pickle", "before.pickle", "after.pickle"},
		"steps of one run":        {"run_2026_step_000100.pickle", "run_2026_step_000200.pickle", "…100.pickle", "…200.pickle"},
		"one begins as the other": {"a_very_long_name", "a_very_long_name_again", "…e", "…e_again"},
		"nothing in common":       {"full_precision.pickle", "mixed_precision.pickle", "full_precision.pickle", "mixed_precision.pickle"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before, after := apart(test.before, test.after, 16)
			if before != test.wantBefore || after != test.wantAfter {
				t.Errorf("got %q and %q, want %q and %q", before, after, test.wantBefore, test.wantAfter)
			}
		})
	}
}
