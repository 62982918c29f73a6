package probe

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// boxedProgram runs a program whose black box lies in a folder of the test's.
func boxedProgram(t *testing.T, o Options) (*probetest.Program, *Probe, string) {
	t.Helper()
	folder := t.TempDir()
	fatal.If(t, os.Chmod(folder, 0o700))
	o.Dir = folder
	if o.Box == 0 {
		o.Box = 1 << 20
	}
	if o.BoxDir == "" {
		o.BoxDir = folder
	}
	program := probetest.New()
	p, err := Listen(t.Context(), o, program)
	fatal.If(t, err)
	t.Cleanup(func() { _ = p.Close() })
	path, err := p.BlackBox()
	if err != nil {
		t.Log("no box: ", err)
	}
	return program, p, path
}

func TestABoxHasStepsNamesAndChanges(t *testing.T) {
	program, p, path := boxedProgram(t, Options{Control: &controlled{probetest.New()}})
	program.Run(100)
	program.Name("something new")
	program.Run(1)
	program.Finish(p)
	var tr *trace.Trace
	probetest.Eventually(t, "the step and the new name in the box", func() bool {
		tr = onfile.Trace(t, path)
		note := tr.Tables.Notes[tr.Devices[0].Events.At(tr.Devices[0].Events.Len()-1).Note]
		return len(tr.Steps) == 1 && tr.Tables.String(note.Category) == "something new"
	})
	if d := tr.Devices[0]; d.Events.Len() != 101 || tr.Info.Container != "box" || tr.Steps[0].Number != 1 || len(tr.Live.Options) == 0 {
		t.Errorf("%d events, info %+v, steps %+v", d.Events.Len(), tr.Info, tr.Steps)
	}
}

// controlled is a program's settings.
type controlled struct{ *probetest.Program }

func TestABoxIsRemovedWhenTheProgramEnds(t *testing.T) {
	program, p, path := boxedProgram(t, Options{})
	program.Run(10)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the box is %v, %v", info, err)
	}
	fatal.If(t, p.Close())
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*box"))
	hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*box"))
	if len(left)+len(hidden) > 0 {
		t.Errorf("left: %q %q", left, hidden)
	}
	p.Record(0, trace.Event{Kind: trace.Alloc}) // whoever is late hits nothing
}

func TestABoxStaysWhenARequestHadFoundNoMemory(t *testing.T) {
	program, p, path := boxedProgram(t, Options{})
	program.Run(10)
	p.Record(0, trace.Event{Kind: trace.OOM, Size: 1 << 20, Time: 11})
	fatal.If(t, p.Close())
	tr := onfile.Trace(t, path)
	if end := tr.Live.Ended; end.Runs || !strings.Contains(end.Goodbye, "1 of its requests had found no memory") || end.Devices[0].Events != 11 {
		t.Errorf("the end is %+v", end)
	}
}

func TestAProgramWithoutABoxGoesOn(t *testing.T) {
	full := errors.New("no space left")
	for name, test := range map[string]struct {
		o    Options
		env  string
		full bool
		want string // why, "" where none is wanted
	}{
		"none is wanted":                {o: Options{Box: -1}},
		"a folder is full":              {full: true, want: "no room for 1 MiB"},
		"a folder that cannot be there": {o: Options{BoxDir: "/proc/none"}, want: "/proc/none"},
		"a folder that others may use":  {o: Options{BoxDir: "/dev/shm"}, want: "lets others in"},
		"a size of no box":              {o: Options{Box: 100}, want: "between 256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.full {
				allocate = func(int, uint32, int64, int64) error { return full }
				t.Cleanup(func() { allocate = unix.Fallocate })
			}
			var log bytes.Buffer
			test.o.Log = slog.New(slog.NewTextHandler(&log, nil))
			program, p, path := boxedProgram(t, test.o)
			program.Run(100)
			_, err := p.BlackBox()
			if path != "" || (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the box is %q, %v; want %q", path, err, test.want)
			}
			if got := strings.Count(log.String(), "no black box"); got != min(1, len(test.want)) {
				t.Errorf("the log is %q", &log)
			}
			fatal.If(t, p.Close())
			left, _ := filepath.Glob(filepath.Join(filepath.Dir(p.Path()), ".*"))
			if len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestABoxThatIsCutShortEndsNothing: whoever may write to the folder may cut the file, by
// mistake too. Every store to it is then a fault.
func TestABoxThatIsCutShortEndsNothing(t *testing.T) {
	for name, meet := range map[string]func(*probetest.Program, *Probe){
		"an event meets it":            func(program *probetest.Program, _ *Probe) { program.Run(1000) },
		"the box's goroutine meets it": func(_ *probetest.Program, p *Probe) { p.box.wake() },
		"the end meets it": func(_ *probetest.Program, p *Probe) {
			p.Record(0, trace.Event{Kind: trace.OOM, Size: 1 << 20})
			_ = p.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log synchronised
			program, p, path := boxedProgram(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			program.Run(10)
			fatal.If(t, os.Truncate(path, 0))
			meet(program, p)
			probetest.Eventually(t, "the probe to say that it has no box", func() bool { _, err := p.BlackBox(); return err != nil })
			program.Run(10)
			got, err := p.BlackBox()
			if want := path + " was cut short by another program"; got != "" || !strings.Contains(err.Error(), want) {
				t.Errorf("the box is %q, %v; want none and %q", got, err, want)
			}
			fatal.If(t, p.Close())
			if got := strings.Count(log.String(), "no black box"); got != 1 {
				t.Errorf("it was said %d times, want once: %s", got, &log)
			}
			if _, err := os.Lstat(path); err == nil {
				t.Error("what is left of the box is still there")
			}
			if notices := p.hello(0).Notices; len(notices) != 1 || !strings.Contains(notices[0], "was cut short") {
				t.Errorf("viewers are told %q", notices)
			}
		})
	}
}

// synchronised is a log that several goroutines write.
type synchronised struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *synchronised) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *synchronised) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestTheEnvironmentSaysWhatTheOptionsDoNot(t *testing.T) {
	for text, want := range map[string]struct {
		o      Options
		size   int
		folder string
	}{
		"off":      {size: 0},
		"1MiB":     {size: 1 << 20},
		"/a/place": {size: DefaultBox, folder: "/a/place"},
		"2MiB":     {o: Options{Box: 3 << 20}, size: 3 << 20},
		"/b/place": {o: Options{BoxDir: "/c"}, size: DefaultBox, folder: "/c"},
		"300000B":  {size: 303104},
		"":         {size: DefaultBox},
	} {
		t.Setenv("MEMTOP_BLACK_BOX", text)
		if size, folder, err := want.o.boxPlace(); size != want.size || folder != want.folder || err != nil {
			t.Errorf("%q: %d bytes in %q, %v; want %d in %q", text, size, folder, err, want.size, want.folder)
		}
	}
}

// TestArgumentsAreLeftOutWhereTheEnvironmentSaysSo looks through a whole box for one.
func TestArgumentsAreLeftOutWhereTheEnvironmentSaysSo(t *testing.T) {
	before := os.Args
	t.Cleanup(func() { os.Args = before })
	os.Args = []string{"/usr/bin/train", "--token", "secret-of-the-job"}
	for setting, want := range map[string]string{
		"": "/usr/bin/train --token secret-of-the-job", "full": "/usr/bin/train --token secret-of-the-job", "name": "train", "nonsense": "train",
	} {
		t.Setenv(protocol.CommandLineVariable, setting)
		_, p, path := boxedProgram(t, Options{})
		if got := onfile.Trace(t, path).Live.Command; got != want {
			t.Errorf("%q: the box is of %q, want %q", setting, got, want)
		}
		text, err := os.ReadFile(path)
		if all := strings.Contains(want, "secret"); err != nil || bytes.Contains(text, []byte("secret-of-the-job")) != all {
			t.Errorf("%q: the argument is in the box: %v, %v", setting, !all, err)
		}
		fatal.If(t, p.Close())
	}
}

// TestASecondProbeOfAProgramHasNoBox must not take the first one's, nor its lock.
func TestASecondProbeOfAProgramHasNoBox(t *testing.T) {
	_, first, path := boxedProgram(t, Options{})
	_, second, none := boxedProgram(t, Options{BoxDir: filepath.Dir(path)})
	if _, err := second.BlackBox(); none != "" || err == nil || !strings.Contains(err.Error(), "a program has one black box") {
		t.Errorf("the second has %q, %v", none, err)
	}
	fatal.If(t, second.Close())
	if got, err := first.BlackBox(); got != path || err != nil {
		t.Errorf("the first has %q, %v", got, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
