package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"memtop/tui/tuitest"
)

// TestEverySizeFits draws every page at every size from 20×6 to 250×80: never
// more lines than the screen has, and no line wider than it.
func TestEverySizeFits(t *testing.T) {
	small := tuitest.Small()
	widthStep, heightStep := 1, 1
	if testing.Short() {
		widthStep, heightStep = 7, 5
	}
	for name, keys := range views {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, 80, 24, Options{Color: "always"}, fileOf("run.pickle", small))
			d.press(keys...)
			for w := 20; w <= 250; w += widthStep {
				for h := 6; h <= 80; h += heightStep {
					// Only the size is told: what the page would ask for at
					// it must not be needed for a frame that fits.
					d.m.w, d.m.h = w, h
					fits(t, d.screen(), w, h)
				}
			}
		})
	}
}

// TestResizedScreensFit is the same with everything asked for at each size.
func TestResizedScreensFit(t *testing.T) {
	small := tuitest.Small()
	for name, keys := range views {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, 80, 24, Options{Color: "never", ASCII: true}, fileOf("run.pickle", small))
			d.press(keys...)
			for w := 58; w <= 250; w += 9 {
				for h := 14; h <= 80; h += 7 {
					d.send(tea.WindowSizeMsg{Width: w, Height: h})
					fits(t, d.screen(), w, h)
					if d.m.tooSmall() {
						continue
					}
					exact(t, d.screen(), w, h)
				}
			}
		})
	}
}

// fits fails the test if a screen has too many lines or too wide a one.
func fits(t *testing.T, screen string, w, h int) {
	t.Helper()
	lines := strings.Split(screen, "\n")
	if len(lines) > h {
		t.Fatalf("at %d×%d the screen has %d lines", w, h, len(lines))
	}
	for i, line := range lines {
		if got := cells(line); got > w {
			t.Fatalf("at %d×%d line %d is %d cells wide: %q", w, h, i, got, line)
		}
	}
}

// exact fails the test unless the screen is exactly as large as it should be,
// and plain ASCII.
func exact(t *testing.T, screen string, w, h int) {
	t.Helper()
	lines := strings.Split(screen, "\n")
	if len(lines) != h {
		t.Fatalf("at %d×%d the screen has %d lines", w, h, len(lines))
	}
	for i, line := range lines {
		if got := lipgloss.Width(line); got != w {
			t.Fatalf("at %d×%d line %d is %d cells wide: %q", w, h, i, got, line)
		}
	}
	if at := strings.IndexFunc(screen, func(r rune) bool { return r > '~' }); at >= 0 {
		t.Fatalf("at %d×%d the ASCII screen has %q", w, h, []rune(screen[at:])[0])
	}
}

// cells counts the cells of a line whose characters are all narrow, which
// those of the test's trace are, many times faster than lipgloss.Width.
func cells(line string) int {
	n, escape := 0, false
	for _, r := range line {
		switch {
		case r == 0x1b:
			escape = true
		case escape:
			escape = r != 'm'
		default:
			n++
		}
	}
	return n
}

// TestOtherStatesFit is the same for what pages show after some keys.
func TestOtherStatesFit(t *testing.T) {
	small := tuitest.Small()
	states := map[string][]string{
		"help": {"4", "?"}, "prompt": {"7", "/", "x", "y", "z"}, "stacks of a band": {"4", "enter"},
		"allocations of a stack": {"4", "enter", "enter"}, "all that is alive": {"4", "w"}, "chart alone": {"4", "z"},
		"lists alone": {"4", "z", "z"}, "segments over time": {"4", "m", "f"}, "blocks": {"5", "enter"}, "one pool": {"5", "c"},
		"everything expanded": {"6", "E", "i"}, "zoomed flame": {"6", "t", "down", "enter"}, "sorted events": {"7", ">"},
	}
	for name, keys := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := start(t, 100, 30, Options{Color: "never", ASCII: true}, fileOf("run.pickle", small))
			d.press(keys...)
			for w := 60; w <= 250; w += 9 {
				for h := 16; h <= 80; h += 7 {
					d.send(tea.WindowSizeMsg{Width: w, Height: h})
					exact(t, d.screen(), w, h)
				}
			}
		})
	}
}
