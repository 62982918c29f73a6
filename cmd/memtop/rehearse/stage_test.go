package rehearse

import (
	"slices"
	"testing"
)

// TestARehearsalCompilesAgain has a fresh folder for what PyTorch compiles, unless the user has chosen one.
func TestARehearsalCompilesAgain(t *testing.T) {
	s := &stage{folder: "/stage"}
	for users, want := range map[string]bool{"": true, "/mine": false} {
		t.Setenv(inductorCache, users)
		if got := slices.Contains(s.environment("", &trial{}, &Rehearsal{}), inductorCache+"=/stage/inductor"); got != want {
			t.Errorf("where the user has %q the folder is a fresh one: %t", users, got)
		}
	}
}
