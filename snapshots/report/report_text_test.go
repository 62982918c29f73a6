package report

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// indexOfFrame returns an index whose trace has one frame, number 1.
func indexOfFrame(tb testing.TB, file, name string, line int) *analysis.Index {
	tb.Helper()
	return indexOf(tb, fmt.Sprintf("frame it %q %d %q\nstack its it\ndevice 0\nalloc 0x100 512 stack=its\n", file, line, name))
}

func TestNamesAreCutWhereTheyTellLeast(t *testing.T) {
	tests := map[string]struct {
		name  string
		width int
		want  string
	}{
		"it fits":                               {"leak.go:80 train.fillCache", 26, "leak.go:80 train.fillCache"},
		"a line stays, not all of the function": {"leak.go:80 train.(*Trainer).fillCache", 26, "leak.go:80 train.(*Trai..."},
		"a line that does not fit":              {"a/long/path/leak.go:80 main", 18, "...leak.go:80 main"},
		"the end of a path":                     {"/home/me/project/model.py", 12, ".../model.py"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := fitName(test.name, test.width); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTailLeavesOutFoldersFirst(t *testing.T) {
	tests := map[string]struct {
		file, name string
		line       int
		width      int
		want       string
	}{
		"all of it fits":                   {"/home/me/model.py", "forward", 7, 40, "/home/me/model.py:7 forward"},
		"the first folders go":             {"/home/me/project/model.py", "forward", 7, 32, ".../project/model.py:7 forward"},
		"all folders go":                   {"/home/me/project/model.py", "forward", 7, 20, "model.py:7 forward"},
		"the short form is wider":          {"/home/me/model.py", "forward", 7, 4, "model.py:7 forward"},
		"a path with backslashes":          {`C:\old\jobs\model.py`, "forward", 7, 27, ".../jobs/model.py:7 forward"},
		"C++ without a file, that fits":    {"??", "one::two::three", 0, 40, "one::two::three"},
		"C++ without a file, short":        {"??", "one::two::three", 0, 12, "two::three"},
		"C++ of which no part is a suffix": {"??", "one::two::three(int)", 0, 12, "two::three"},
		"C++ with a slash in its name":     {"??", "one/a::two::three", 0, 14, "two::three"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tail(indexOfFrame(t, test.file, test.name, test.line), 1, test.width); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzTail(f *testing.F) {
	f.Add("??", "one::two::three", 0, 10)
	f.Add("/a//b/", "c", 1, 0)
	f.Fuzz(func(t *testing.T, file, name string, line, width int) { checkTail(t, file, name, line&0xffff, width) })
}

func checkTail(t *testing.T, file, name string, line, width int) {
	t.Helper()
	in := trace.NewInterner()
	id := in.Frame(trace.Frame{File: in.String(file), Name: in.String(name), Line: int32(line)})
	x := analysis.NewIndex(&trace.Trace{Tables: &in.Tables}, &trace.Device{})
	got, short := tail(x, id, width), x.ShortLabel(id)
	if got != short && cells(got) > width {
		t.Fatalf("file %q, name %q, line %d: %q is wider than %d", file, name, line, got, width)
	}
	if !strings.HasSuffix(got, short) || !strings.HasSuffix(strings.ReplaceAll(x.FrameLabel(id), `\`, "/"), strings.TrimPrefix(got, ".../")) && got != short {
		t.Fatalf("file %q, name %q, line %d: %q is no end of the label", file, name, line, got)
	}
}

// TestALongPathIsCutInOneGo would take minutes if each folder cost a look at all
// that follow.
func TestALongPathIsCutInOneGo(t *testing.T) {
	x := indexOfFrame(t, strings.Repeat("d/", 1<<20)+"model.py", "forward", 7)
	if got := tail(x, 1, 30); got != ".../d/d/d/d/model.py:7 forward" {
		t.Errorf("got %q", got)
	}
	fatal.If(t, New(x.Trace()).Text(io.Discard, 80))
}

// TestACategoryThatMayBeInWhatIsNotKnownSaysSo has hardly anything that is not known, and much.
func TestACategoryThatMayBeInWhatIsNotKnownSaysSo(t *testing.T) {
	for other, want := range map[int]bool{1000: false, 2000: true} {
		var b strings.Builder
		text := fmt.Sprintf("%sdevice 0\nalloc 0x100000 100000 stack=data\nalloc 0x200000 %d stack=main\n", tracetest.Frames, other)
		fatal.If(t, New(tracetest.Parse(t, text)).Text(&b, 80))
		if got := strings.Contains(b.String(), "  not known: parameter, gradient, optimizer, activation,"); got != want {
			t.Errorf("it says so of %d bytes: %v, want %v, in\n%s", other, got, want, &b)
		}
	}
}

const mib = 1 << 20

// indexOf reads a trace in the text form and indexes its first device.
func indexOf(tb testing.TB, text string) *analysis.Index {
	tb.Helper()
	t := tracetest.Parse(tb, text)
	return analysis.NewIndex(t, &t.Devices[0])
}

func TestAReportHasTheEightLargestLines(t *testing.T) {
	var b strings.Builder
	for n := range 12 {
		fmt.Fprintf(&b, "frame f%[1]d \"/home/me/train.py\" %[1]d \"main\"\nstack s%[1]d f%[1]d\n", n+1)
	}
	b.WriteString("device 0\n")
	for n := range 12 {
		fmt.Fprintf(&b, "alloc 0x%x %d stack=s%d\n", (n+1)<<24, (n+1)<<20, n+1)
	}
	text := pageOf(t, New(tracetest.Parse(t, b.String())), 80)
	wantIn(t, text, "(the 8 largest of 12", "train.py:5 main")
	if strings.Contains(text, "train.py:4 main") {
		t.Errorf("it has a ninth line:\n%s", text)
	}
}

// TestHowMuchIsGuessed is of a program that says what some of its memory is for. What backward frees is
// proved to be an activation; what a constructor makes may be a weight; the rest is not known.
func TestHowMuchIsGuessed(t *testing.T) {
	const known = tracetest.Frames + `
stack ours malloc own user
note weights category="parameter"
device 0
alloc 0x1000 1024 note=weights
alloc 0x2000 512 stack=act
`
	const freed = "alloc 0x9000 64 stack=grad\nfree_completed 0x9000 64 stack=grad\nfree_completed 0x2000 512 stack=grad\n"
	for events, want := range map[string][]string{
		freed:                             {"by category parameter", "activation 512 B 32%"},
		"alloc 0x3000 512\n" + freed:      {"by category parameter", "not known 512 B 24%"},
		"alloc 0x3000 512 stack=ours\n":   {"by category (50% guessed) parameter", "parameter 1.5 KiB 75%"},
		"alloc 0x3000 1024 stack=param\n": {"by category (20% guessed) parameter", "parameter 2.0 KiB 80%"},
	} {
		var text strings.Builder
		fatal.If(t, New(tracetest.Parse(t, known+events)).Text(&text, 80))
		for _, part := range want {
			if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), part) {
				t.Errorf("after %q there is no %q in\n%s", events, part, text.String())
			}
		}
	}
}
