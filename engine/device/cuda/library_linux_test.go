package cuda

import (
	"strings"
	"sync"
	"testing"
)

// TestALibraryThatIsNotThereHasAReason has goroutines change threads while many
// look for one.
func TestALibraryThatIsNotThereHasAReason(t *testing.T) {
	const name = "libnot-there.so"
	var looking sync.WaitGroup
	for range 64 {
		looking.Go(func() {
			for range 20 {
				if _, _, err := load([]string{name}); err == nil || !strings.Contains(err.Error(), name+": cannot open") {
					t.Errorf("got %q, want why %s was not loaded", err, name)
					return
				}
			}
		})
	}
	looking.Wait()
}
