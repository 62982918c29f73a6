package replay

import "testing"

func TestTheWritersNameGivesItsRules(t *testing.T) {
	for writer, want := range map[string][]string{
		"PyTorch 2.5–2.7":         {"2.5"},
		"PyTorch 2.12–2.13":       {"2.12", "2.13"},
		"PyTorch 2.14 or later":   {"2.14"},
		"memtop, as PyTorch 2.10": {"2.10"},
		"PyTorch 1.13":            {""},
		"memtrain":                {""},
	} {
		got := rulesOf(writer, "")
		if len(got) != len(want) {
			t.Fatalf("%s: %v", writer, got)
		}
		for i := range got {
			if got[i].String() != want[i] {
				t.Errorf("%s: rules of %q, want %q", writer, got[i], want[i])
			}
		}
	}
	if got := rulesOf("PyTorch 2.8", "large_segment_size_mb:40"); got[0].String() != "" {
		t.Errorf("a release that refuses the recorded settings is taken for their writer: %v", got)
	}
}
