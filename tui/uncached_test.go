package tui

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
)

// uncached is a run on a device without a caching allocator.
const uncached = `
settings
setting "allocator" "none"
device 0
alloc 0x1001 1000 @1
alloc 0x2003 500 @2
free 0x1001 1000 @3
segment 0x2003 500
block 0x2003 500 active_allocated requested=500
`

func TestPagesSayThatThereIsNoCachingAllocator(t *testing.T) {
	d := start(t, 200, 60, Options{Color: "never"}, fileOf("cpu.mtr", tracetest.Parse(t, uncached)))
	for name, keys := range map[string][]string{
		"overview": {"1"}, "timeline": {"4", "m"}, "segments": {"5"}, "events": {"7", "G"},
	} {
		d.press(keys...)
		text := strings.Join(strings.Fields(d.screen()), " ")
		if !strings.Contains(text, "no caching allocator") {
			t.Errorf("%s does not say so:\n%s", name, d.screen())
		}
		for _, word := range []string{"0 segments", "cached free", "rounding 0 B"} {
			if strings.Contains(text, word) {
				t.Errorf("%s says %q:\n%s", name, word, d.screen())
			}
		}
	}
	d.press("5", "enter", "c", "b", "j", "y", "/", "x", "enter", "esc", "w")
	if !strings.Contains(d.screen(), "no caching allocator") {
		t.Errorf("the replay of other settings does not say so:\n%s", d.screen())
	}
}
