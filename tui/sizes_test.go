package tui

import (
	"math/rand/v2"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/memtop/memtop/cmd/testing/tuitest"
)

// sizes returns the screens from least to most at which a layout can be wrong: every
// width, at two heights in turn, and every height, at three widths in turn, so that each
// place where a layout changes is met, and a seeded sample of what is between.
func sizes(least, most [2]int) [][2]int {
	all := sampleSizes(least, most, 60)
	for w := least[0]; w <= most[0]; w++ {
		all = append(all, [2]int{w, []int{max(least[1], minHeight), 40}[w%2]})
	}
	for h := least[1]; h <= most[1]; h++ {
		all = append(all, [2]int{[]int{minWidth, 100, most[0]}[h%3], h})
	}
	return all
}

// sampleSizes returns the corners and a seeded sample of n sizes.
func sampleSizes(least, most [2]int, n int) [][2]int {
	all := [][2]int{least, most, {least[0], most[1]}, {most[0], least[1]}}
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		all = append(all, [2]int{least[0] + random.IntN(most[0]-least[0]+1), least[1] + random.IntN(most[1]-least[1]+1)})
	}
	return all
}

// TestEverySizeFits draws every page at sizes from 20×6 to 250×80, and other states of a
// screen at a few of them: never more lines than the screen has, and no line wider than it.
func TestEverySizeFits(t *testing.T) {
	for name, open := range everyScreen() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, all := open(t), sizes([2]int{20, 6}, [2]int{250, 80})
			if strings.Contains(name, "after keys") {
				all = nil
			}
			for _, size := range all {
				// The page learns only its size: a frame fits without the
				// answers that the page would ask for at it.
				d.m.w, d.m.h = size[0], size[1]
				fits(t, d.screen(), size[0], size[1])
			}
			d.resized(t)
		})
	}
}

// everyScreen returns a function for each screen that opens it.
func everyScreen() map[string]func(t *testing.T) *driver {
	plainText := Options{Color: "never", ASCII: true, Device: -1}
	small := fileOf("run.pickle", tuitest.Small())
	file := func(t *testing.T) *driver { t.Helper(); return start(t, 100, 30, plainText, small) }
	recorded := func(t *testing.T) *driver { t.Helper(); return startRecording(t, 80, 24, plainText) }
	process := func(t *testing.T) *driver {
		t.Helper()
		d, p := startLiveWith(t, 80, 24, 20, plainText)
		p.Miss(7, "the viewer was too slow")
		d.news()
		return d
	}
	job := func(t *testing.T) *driver { t.Helper(); d, _, _ := startJob(t, 80, 24, 64, plainText); return d }
	screens := make(map[string]func(*testing.T) *driver)
	for _, kind := range []struct {
		name  string
		start func(*testing.T) *driver
		views map[string][]string
	}{
		{"a file", file, views},
		{"a recording", recorded, recordedViews},
		{"a process", process, liveViews},
		{"a job", job, map[string][]string{"ranks": nil}},
		{"a question after keys", process, map[string][]string{"before a change": {"C"}}},
		{"a file, after keys", file, map[string][]string{
			"help": {"4 ?"}, "prompt": {"7 / xyz"}, "stacks of a band": {"4 enter"}, "allocations of a stack": {"4 enter enter"},
			"all that is alive": {"4 v"}, "chart alone": {"4 z"}, "lists alone": {"4 z z"}, "segments over time": {"4 m f"}, "blocks": {"5 enter"},
			"one pool": {"5 c"}, "everything expanded": {"6 E i"}, "lines of libraries": {"6 l l r"}, "stacks of a line": {"6 l down enter"},
			"compared": {"6 v l"}, "compared flames": {"6 ^ v t down enter"}, "zoomed flame": {"6 t down enter"}, "sorted events": {"7 >"},
		}},
	} {
		for view, keys := range kind.views {
			screens[kind.name+": "+view] = func(t *testing.T) *driver {
				t.Helper()
				d := kind.start(t)
				d.press(keys...)
				return d
			}
		}
	}
	return screens
}

// resized gives the terminal a sample of sizes, at which the page asks for
// everything: the screen is exactly as large.
func (d *driver) resized(t *testing.T) {
	t.Helper()
	for _, size := range sampleSizes([2]int{minWidth, minHeight}, [2]int{250, 80}, 25) {
		d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		exact(t, d.screen(), size[0], size[1])
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
