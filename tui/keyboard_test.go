package tui

import (
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/tui/keys"

	tea "charm.land/bubbletea/v2"
)

// TestPastesAreHandedOnShort gives what was read at once, a second between reads
// where a text is "".
func TestPastesAreHandedOnShort(t *testing.T) {
	full := strings.Repeat("j", atOnce)
	short := pasteBegin + ellipsis + pasteEnd
	for name, test := range map[string]struct {
		reads []string
		want  string
	}{
		"keys":                                {[]string{"q", "\x1b", "\x1b[B", "\x1b[200", "é"}, "q\x1b\x1b[B\x1b[200é"},
		"a paste":                             {[]string{"/" + pasteBegin + "soft\xffmax\x03\x1b]\n" + pasteEnd + "\r"}, "/" + pasteBegin + "softmax]" + pasteEnd + "\r"},
		"a paste in several reads":            {[]string{pasteBegin[:3], pasteBegin[3:] + "a", "\x1b", "\x1b[20", "é" + pasteEnd[:4], pasteEnd[4:] + "q"}, pasteBegin + "a[20é" + pasteEnd + "q"},
		"a long paste":                        {[]string{pasteBegin + strings.Repeat("a", pasteLimit+1) + pasteEnd}, pasteBegin + strings.Repeat("a", pasteLimit) + ellipsis + pasteEnd},
		"ctrl-c in a paste":                   {[]string{pasteBegin + "a\x03b" + pasteEnd}, pasteBegin + "ab" + pasteEnd},
		"ctrl-c typed while a paste lasts":    {[]string{pasteBegin + "a", "\x03"}, pasteBegin + "a" + pasteEnd + "\x03"},
		"the same by a terminal with its own": {[]string{pasteBegin + "a", "\x1b[99;5u"}, pasteBegin + "a" + pasteEnd + "\x1b[99;5u"},
		"a paste without marks":               {[]string{full, full, "jjq"}, short},
		"keys after one":                      {[]string{full, "jj", "", "q"}, short + "q"},
		"ctrl-c in one":                       {[]string{full, "j\x03j"}, short + "\x03"},
		"a marked paste after one":            {[]string{full, full, pasteBegin + "a" + pasteEnd + "j"}, short + pasteBegin + "a" + pasteEnd + "j"},
		"a marked paste of a full read":       {[]string{(pasteBegin + full)[:atOnce], full[:len(pasteBegin)] + pasteEnd}, pasteBegin + full + pasteEnd},
	} {
		t.Run(name, func(t *testing.T) {
			var keys typing
			var got []byte
			now := time.Unix(1_752_000_000, 0)
			for _, read := range test.reads {
				if read == "" {
					now = now.Add(time.Second)
				}
				got = append(got, keys.take([]byte(read), now)...)
			}
			if string(got) != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestCtrlCEndsEveryMode interrupts the screen on every page of a process and of a
// file, in every mode that there is.
func TestCtrlCEndsEveryMode(t *testing.T) {
	modes := map[string]func(d *driver){
		"plain":                     func(*driver) {},
		"help":                      func(d *driver) { d.press("?") },
		"a search":                  func(d *driver) { d.press("/") },
		"a filter":                  func(d *driver) { d.press("\\") },
		"a search with text":        func(d *driver) { d.press("/"); d.typed("q?") },
		"what if":                   func(d *driver) { d.press("w") },
		"help over what if":         func(d *driver) { d.press("w", "?") },
		"the name of a file":        func(d *driver) { d.press("x") },
		"a question before writing": func(d *driver) { d.press("s", "enter") },
		"a question before changes": func(d *driver) { d.press("C") },
		"a screen too small":        func(d *driver) { d.send(tea.WindowSizeMsg{Width: 20, Height: 5}) },
		"a screen that stands still": func(d *driver) {
			d.m.still = still{frame: "the last frame", since: d.m.now()}
		},
	}
	for source, file := range map[string]func() File{
		"process": func() File { return processFile(tuitest.NewProcess(3)) },
		"file":    func() File { return fileOf("run.pickle", tuitest.Small()) },
	} {
		for name, enter := range modes {
			t.Run(source+": "+name, func(t *testing.T) {
				for i, tab := range tabs {
					d := startModal(t, file())
					d.press(keys.PageKey(i))
					enter(d)
					d.interrupted(tab.name)
				}
			})
		}
	}
}

// TestCtrlCEndsWhatIsNoPage interrupts what is shown where there is no page.
func TestCtrlCEndsWhatIsNoPage(t *testing.T) {
	empty := *tuitest.NewProcess(0).Trace()
	empty.Devices = nil
	source := &growing{Process: tuitest.NewProcess(0), trace: &empty}
	held := func(d *driver) { d.hold = true; d.press("enter") }
	for name, test := range map[string]struct {
		file  File
		enter func(d *driver)
	}{
		"a load":                     {brokenFile("run.pickle", "it is damaged"), held},
		"a load that failed":         {brokenFile("run.pickle", "it is damaged"), func(*driver) {}},
		"a load that was cancelled":  {brokenFile("run.pickle", "it is damaged"), func(d *driver) { held(d); d.press("esc") }},
		"help over it":               {brokenFile("run.pickle", "it is damaged"), func(d *driver) { d.press("?") }},
		"a process without memory":   {File{Name: "4711", Live: true, Load: source.load}, func(*driver) {}},
		"a process that is not here": {File{Name: "4711", Live: true, Load: brokenFile("", "there is no process 4711").Load}, func(*driver) {}},
	} {
		t.Run(name, func(t *testing.T) {
			d := startModal(t, test.file)
			test.enter(d)
			d.interrupted(name)
		})
	}
	job, _, _ := startJob(t, 80, 24, 4, Options{})
	job.press("?")
	job.interrupted("the page of ranks")
}

// startModal opens a file on a screen that has all that opens a modal.
func startModal(t *testing.T, file File) *driver {
	t.Helper()
	w := &written{there: map[string]bool{"4711-saved.pickle": true, "run-saved.pickle": true}}
	o := Options{Color: "never", Device: -1, WhatIf: says(answered(), nil), Export: w.write("export"), Save: w.write("save")}
	return start(t, 80, 24, o, file)
}

// interrupted wants Ctrl-C to end the program.
func (d *driver) interrupted(where string) {
	d.t.Helper()
	_, cmd := d.m.Update(keyPress("ctrl+c"))
	if cmd == nil {
		d.t.Errorf("%s: ctrl-c does nothing:\n%s", where, plain(d.screen()))
		return
	}
	if _, ok := runAll(cmd).(tea.InterruptMsg); !ok {
		d.t.Errorf("%s: ctrl-c does not interrupt:\n%s", where, plain(d.screen()))
	}
}

// TestNoKeyMeansTwoThings compares every page's keys with each other and with
// the global ones.
func TestNoKeyMeansTwoThings(t *testing.T) {
	live, _ := startLive(t, 80, 24, 3)
	for what, d := range map[string]*driver{"a file": start(t, 80, 24, Options{}, fileOf("run.pickle", tuitest.Small())), "a process": live} {
		d.press("?", "?") // keys are bound to what is shown when one is pressed
		for name, p := range d.m.file().current().pages {
			groups := append(p.Help(), keys.Group{Title: "Everywhere", Bindings: d.m.helpful()})
			if g, ok := d.m.controlHelp(); ok {
				groups = append(groups, g)
			}
			meansOneThing(t, what+", "+name, groups)
		}
	}
}

func meansOneThing(t *testing.T, where string, groups []keys.Group) {
	t.Helper()
	seen := make(map[string]string)
	for _, g := range groups {
		for _, b := range g.Bindings {
			for _, k := range b.Keys() {
				if other, ok := seen[k]; ok && b.Enabled() {
					t.Errorf("%s: %q means both %q and %q", where, k, other, b.Help().Desc)
				}
				if b.Enabled() {
					seen[k] = b.Help().Desc
				}
			}
		}
	}
}
