package tui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/trace"
)

var update = flag.Bool("update", false, "rewrite the golden screens")

func plain(s string) string { return ansi.Strip(s) }

// clipboard returns the text of Bubble Tea's message for the clipboard, a type
// of its own whose kind is string.
func clipboard(msg tea.Msg) (string, bool) {
	v := reflect.ValueOf(msg)
	if v.Kind() == reflect.String && strings.Contains(v.Type().String(), "setClipboard") {
		return v.String(), true
	}
	return "", false
}

// golden compares a screen with the stored one of that name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", strings.SplitN(t.Name(), "/", 2)[0], name+".golden")
	if *update {
		fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o755))
		fatal.If(t, os.WriteFile(path, []byte(got+"\n"), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the tests with -update to write it", err)
	}
	equal.Values(t, fmt.Sprintf("screen differs from %s", path), strings.Split(string(want), "\n"), strings.Split(got+"\n", "\n"))
}

// goldens are how each page is stored: once at each of the two sizes that most
// terminals have, the small one in colour. What else a screen can be is checked by
// property: see sizes, and TestColoursHaveRoles.
var goldens = map[string]struct {
	w, h int
	Options
}{
	"120x40-monochrome": {120, 40, Options{Color: "never"}},
	"80x24-colour":      {80, 24, Options{Color: "always"}},
}

// goldenViews compares each view with what is stored of it.
func goldenViews(t *testing.T, views map[string][]string, start func(t *testing.T, w, h int, o Options, keys []string) *driver) {
	t.Helper()
	for view, keys := range views {
		for form, g := range goldens {
			name := view + "-" + form
			t.Run(name, func(t *testing.T) { golden(t, name, start(t, g.w, g.h, g.Options, keys).screen()) })
		}
	}
}

// views are the pages, with the keys that lead to each.
var views = map[string][]string{
	"overview": {"1"}, "timeline": {"4"}, "segments": {"5"}, "stacks": {"6"}, "flame": {"6", "t"}, "lines": {"6", "l"}, "events": {"7"},
	"sites": {"3"}, "tensors": {"3", "t"},
}

func TestScreens(t *testing.T) {
	small := fileOf("run.pickle", tuitest.Small())
	goldenViews(t, views, func(t *testing.T, w, h int, o Options, keys []string) *driver {
		t.Helper()
		d := start(t, w, h, o, small)
		d.press(keys...)
		return d
	})
}

func TestOtherScreens(t *testing.T) {
	small := fileOf("run.pickle", tuitest.Small())
	two := []File{small, fileOf("larger.pickle", tuitest.Large(1))}
	tests := map[string]struct {
		w, h  int
		files []File
		keys  []string
	}{
		"help":                     {80, 24, []File{small}, []string{"4", "?"}},
		"help-wide":                {200, 60, []File{small}, []string{"4", "?"}},
		"too-small":                {40, 10, []File{small}, nil},
		"broken":                   {80, 24, []File{brokenFile("bad.pickle", "bad.pickle: damaged at byte 1234: opcode 0x7f is not one of a pickle")}, nil},
		"several-files":            {80, 24, []File{small, small, small}, []string{"]"}},
		"two-devices":              {80, 24, []File{fileOf("two.pickle", tuitest.TwoDevices())}, []string{"d", "d", "5"}},
		"out-of-memory-80x24":      {80, 24, []File{fileOf("two.pickle", tuitest.OneOfTwoRanOut())}, nil},
		"out-of-memory-rules":      {80, 24, []File{fileOf("two.pickle", tuitest.OneOfTwoRanOut())}, []string{"e"}},
		"out-of-memory-200x60":     {200, 60, []File{fileOf("two.pickle", tuitest.OneOfTwoRanOut())}, nil},
		"out-of-memory-elsewhere":  {80, 24, []File{fileOf("two.pickle", tuitest.OneOfTwoRanOut())}, []string{"d"}},
		"out-of-memory-not-there":  {200, 60, []File{fileOf("two.pickle", tuitest.OneOfTwoRanOut())}, []string{"d", "4"}},
		"state-only-overview":      {80, 24, []File{fileOf("state.pickle", tuitest.StateOnly())}, nil},
		"state-only-timeline":      {80, 24, []File{fileOf("state.pickle", tuitest.StateOnly())}, []string{"4"}},
		"timeline-by-allocation":   {120, 40, []File{small}, []string{"4", "c"}},
		"timeline-time-zoomed":     {120, 40, []File{small}, []string{"4", "t", "+", "+"}},
		"timeline-band-stacks":     {120, 40, []File{small}, []string{"4", "p", "down", "down", "enter"}},
		"timeline-band-allocation": {120, 40, []File{small}, []string{"4", "p", "enter", "enter"}},
		"segments-blocks":          {80, 24, []File{small}, []string{"5", "enter", "down"}},
		"compared-by-cause":        {80, 24, two, []string{"6", "v"}},
		"compared-by-line":         {200, 60, two, []string{"6", "v", "l"}},
		"compared-flame-graphs":    {80, 24, two, []string{"6", "v", "t"}},
		"stacks-innermost":         {120, 40, []File{small}, []string{"6", "i", "E"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := start(t, test.w, test.h, Options{Color: "never", Device: -1}, test.files...)
			d.press(test.keys...)
			golden(t, name, d.screen())
		})
	}
}

func TestLoadingScreen(t *testing.T) {
	hang := make(chan struct{})
	load := func(ctx context.Context, progress trace.Progress) (trace.Source, error) {
		progress(300<<20, 1<<30)
		close(hang)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	d := &driver{t: t, m: New([]File{{Name: "big.pickle", Load: load}}, Options{Color: "never"})}
	began := time.Unix(1_752_000_000, 0)
	d.m.now, d.m.tick = func() time.Time { return began }, func(*file) tea.Cmd { return nil }
	cmd := d.m.Init()
	finished := make(chan tea.Msg, 1) // closed by nobody: one message comes
	go func() { finished <- runAll(cmd) }()
	<-hang
	d.m.now = func() time.Time { return began.Add(2 * time.Second) }
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	golden(t, "loading", d.screen())
	d.shows("esc", "The load was cancelled.")
	d.send(<-finished)
	golden(t, "cancelled", d.screen())
}

// runAll runs a command, or the first of a batch that is not nil.
func runAll(cmd tea.Cmd) tea.Msg {
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, c := range batch {
			if c != nil {
				return runAll(c)
			}
		}
	}
	return msg
}
