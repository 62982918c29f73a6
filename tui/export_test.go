package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tuitest"
	"github.com/memtop/memtop/snapshots/analysis"
)

// written notes what the screen asked to be written.
type written struct {
	calls []string
	there map[string]bool
	err   error
}

func (w *written) write(what string) Write {
	return func(x *analysis.Index, event int, path string, overwrite bool) error {
		if w.there[path] && !overwrite {
			return &fs.PathError{Op: "write", Path: path, Err: fs.ErrExist}
		}
		w.calls = append(w.calls, fmt.Sprintf("%s device %d after %d to %q", what, x.Device().ID, event, path))
		return w.err
	}
}

func startWriting(t *testing.T, w, h int, writer *written, name string) *driver {
	t.Helper()
	o := Options{Color: "never", Export: writer.write("export"), Save: writer.write("save")}
	return start(t, w, h, o, fileOf(name, tuitest.Small()))
}

func TestExportAndSaveAskForAPath(t *testing.T) {
	tests := map[string]struct {
		file  string
		keys  []string
		typed string
		want  []string
		shown string
	}{
		"enter takes the name that is proposed":    {"dir/run.pickle", []string{"x"}, "", []string{`export device 0 after 10 to "run.html"`}, "wrote run.html"},
		"another name":                             {"run.pickle", []string{"x", "backspace", "backspace", "backspace", "backspace"}, "csv", []string{`export device 0 after 10 to "run.csv"`}, "wrote run.csv"},
		"a snapshot does not take the file's name": {"run.pickle.gz", []string{"s"}, "", []string{`save device 0 after 10 to "run-saved.pickle"`}, "wrote run-saved.pickle"},
		"standard input has no name":               {"-", []string{"x"}, "", []string{`export device 0 after 10 to "memory.html"`}, "wrote memory.html"},
		"the keys of the program are text":         {"run.pickle", []string{"x"}, "q1?", []string{`export device 0 after 10 to "run.htmlq1?"`}, "wrote run.htmlq1?"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := &written{}
			d := startWriting(t, 80, 24, w, test.file)
			d.scene().Move(10)
			d.press(test.keys...)
			d.typed(test.typed)
			d.wants("enter writes")
			d.press("enter")
			d.wants(test.shown)
			if got := strings.Join(w.calls, "; "); got != strings.Join(test.want, "; ") {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestEscapeCancelsAnExport(t *testing.T) {
	w := &written{}
	d := startWriting(t, 80, 24, w, "run.pickle")
	d.shows("x", "Export to run.html")
	d.shows("esc", "!Export to")
	d.shows("x esc s esc 4", "Live memory by category")
	if len(w.calls) > 0 {
		t.Errorf("written: %v", w.calls)
	}
}

func TestAFileThatIsThereIsOverwrittenOnlyWhenToldTo(t *testing.T) {
	w := &written{there: map[string]bool{"run.html": true}}
	d := startWriting(t, 80, 24, w, "run.pickle")
	d.shows("x enter", "run.html exists; overwrite it?")
	d.shows("enter", "nothing was written")
	d.press("x", "enter", "n", "enter", "x", "enter", "esc")
	if len(w.calls) > 0 {
		t.Fatalf("written: %v", w.calls)
	}
	d.shows("x enter y enter", "wrote run.html")
	if len(w.calls) != 1 {
		t.Errorf("written: %v", w.calls)
	}
}

func TestWhatWentWrongWithAnExportIsTold(t *testing.T) {
	d := startWriting(t, 80, 24, &written{err: errors.New("no room \x1b[2J left")}, "run.pickle")
	d.shows("x enter", "no room")
	if strings.Contains(d.screen(), "\x1b[2J") {
		t.Error("an error's text steers the terminal")
	}
}

func TestALongPathFitsTheQuestion(t *testing.T) {
	w := &written{there: map[string]bool{}}
	path := strings.Repeat("deep/", 40) + "run.html"
	w.there[path] = true
	d := startWriting(t, 60, 16, w, "run.pickle")
	d.press("x")
	for range len("run.html") {
		d.press("backspace")
	}
	d.typed(path)
	d.wants("run.html")
	d.shows("enter", "overwrite it?")
	for i, line := range strings.Split(plain(d.screen()), "\n") {
		if n := len([]rune(line)); n > 60 {
			t.Errorf("line %d has %d cells", i, n)
		}
	}
}

func TestWithoutWritersTheKeysAreGone(t *testing.T) {
	d := startSmall(t, 80, 24)
	d.shows("x s", "!Export to")
	d.shows("?", "!export to another format")
	d = startWriting(t, 200, 60, &written{}, "run.pickle")
	d.shows("?", "export to another format | save as a PyTorch snapshot")
}
