package export_test

import (
	"encoding/csv"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/export"
	"github.com/memtop/memtop/snapshots/trace"
)

// traces are what every format has to cope with.
func traces() map[string]*trace.Trace {
	empty := &trace.Trace{Tables: new(trace.Tables)}
	*empty.Tables = trace.NewInterner().View()
	random := pytorchtest.Random(pytorchtest.Options{Seed: 3, Operations: 500})
	state := *pytorchtest.TinyTraining()
	state.Devices = []trace.Device{{Final: state.Devices[0].Final}}
	return map[string]*trace.Trace{
		"training": pytorchtest.TinyTraining(), "random": random, "no device": empty,
		"no events": &state, "two devices": twice(pytorchtest.TinyTraining()), "hostile": hostile(),
	}
}

// twice gives a trace a second device with the same history.
func twice(t *trace.Trace) *trace.Trace {
	second := t.Devices[0]
	second.ID = 1
	t.Devices = append(t.Devices, second)
	return t
}

// nasty is a name that means something to every format.
const nasty = "</title><script src=//x.test/a.js>\";=cmd|' /C'!A0\r\n\x1b[2J\u202e\xff;,,\"\"{}\\"

// hostile is a trace all of whose names are nasty.
func hostile() *trace.Trace {
	in := trace.NewInterner()
	frames := []trace.FrameID{
		in.Frame(trace.Frame{File: in.String(nasty + ".py"), Line: 3, Name: in.String("=" + nasty)}),
		in.Frame(trace.Frame{File: in.String(""), Line: -1, Name: in.String("")}),
		in.Frame(trace.Frame{File: in.String("a.py"), Line: 1, Name: in.String(strings.Repeat("長", 1000))}),
	}
	note := in.Note(trace.Note{Action: in.String("@" + nasty), Category: in.String(nasty)})
	var log trace.EventLog
	for i := range 40 {
		log.Append(trace.Event{Kind: trace.Alloc, Addr: uint64(i) << 20, Size: 1 << 20, Stack: in.Stack(frames), Time: int64(i)})
		log.Append(trace.Event{Kind: trace.Other, Note: note, Stack: in.Stack(frames[1:2]), Absent: trace.NoAddr | trace.NoSize | trace.NoTime})
	}
	t := &trace.Trace{
		Info:        trace.Info{Path: "/tmp/" + nasty, Writer: nasty, Container: nasty},
		Devices:     []trace.Device{{Events: log.Events()}},
		Notices:     []string{nasty},
		Annotations: []trace.Annotation{{Name: in.String(nasty), Stage: in.String("START"), Time: 7}},
	}
	tables := in.View()
	t.Tables = &tables
	return t
}

// forAll writes every trace in a format and hands over what came out.
func forAll(t *testing.T, format string, check func(t *testing.T, tr *trace.Trace, out []byte)) {
	t.Helper()
	for name, tr := range traces() {
		t.Run(name, func(t *testing.T) {
			for _, allFrames := range []bool{false, true} {
				check(t, tr, written(t, tr, format, export.Options{AllFrames: allFrames}))
			}
		})
	}
}

// peaks adds up what is live at the devices' peaks.
func peaks(tr *trace.Trace) (bytes int64, count int) {
	for i := range tr.Devices {
		x := analysis.NewIndex(tr, &tr.Devices[i])
		bytes += x.Summary().PeakRequested
		count += len(x.AliveAt(x.Summary().PeakEvent))
	}
	return bytes, count
}

// noControls fails if text has a character that a terminal might obey. The line
// ends that the format itself writes are left out by the caller.
func noControls(t *testing.T, text string) {
	t.Helper()
	if clean := trace.Printable(text); clean != text {
		t.Errorf("unprintable text got through: %q", text)
	}
}

func TestProfilesAddUpToThePeak(t *testing.T) {
	forAll(t, "pprof", func(t *testing.T, tr *trace.Trace, out []byte) {
		t.Helper()
		p := parse(t, out)
		var bytes, count int64
		for _, s := range p.Sample {
			count, bytes = count+s.Value[0], bytes+s.Value[1]
			if len(s.Label["category"]) != 1 || len(s.Label["device"]) != 1 || len(s.Location) == 0 {
				t.Errorf("a sample has labels %v and %d places", s.Label, len(s.Location))
			}
		}
		if wantBytes, wantCount := peaks(tr); bytes != wantBytes || count != int64(wantCount) {
			t.Errorf("got %d bytes in %d objects, want %d in %d", bytes, count, wantBytes, wantCount)
		}
		for _, f := range p.Function {
			noControls(t, f.Name+f.Filename)
			if f.Name == "" {
				t.Errorf("function %d has no name", f.ID)
			}
		}
	})
}

func TestFoldedStacksAddUpToThePeak(t *testing.T) {
	line := regexp.MustCompile(`^(.+) (\d+)$`)
	forAll(t, "folded", func(t *testing.T, tr *trace.Trace, out []byte) {
		t.Helper()
		var bytes int64
		seen := make(map[string]bool)
		for text := range strings.SplitSeq(strings.TrimSuffix(string(out), "\n"), "\n") {
			m := line.FindStringSubmatch(text)
			if m == nil {
				if text == "" && len(tr.Devices) == 0 {
					continue
				}
				t.Fatalf("the line %q is not a stack and a number", text)
			}
			n, err := strconv.ParseInt(m[2], 10, 64)
			if err != nil || seen[m[1]] {
				t.Errorf("the line %q: %v, or its stack stands twice", text, err)
			}
			bytes, seen[m[1]] = bytes+n, true
			noControls(t, m[1])
		}
		if want, _ := peaks(tr); bytes != want {
			t.Errorf("got %d bytes, want %d", bytes, want)
		}
	})
}

func TestCSVHasARowForEveryEvent(t *testing.T) {
	forAll(t, "csv", func(t *testing.T, tr *trace.Trace, out []byte) {
		t.Helper()
		rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
		fatal.If(t, err)
		next := 1
		for i := range tr.Devices {
			x := analysis.NewIndex(tr, &tr.Devices[i])
			for e := range x.End() + 1 {
				row := rows[next]
				next++
				if row[0] != strconv.Itoa(x.Device().ID) || row[1] != strconv.Itoa(e) || row[8] != strconv.FormatInt(x.RequestedAt(e), 10) {
					t.Fatalf("row %d is %q; want device %d, event %d, %d bytes live", next, row, x.Device().ID, e, x.RequestedAt(e))
				}
				for _, cell := range row {
					noControls(t, cell)
					if cell != "" && strings.ContainsRune("=+@", rune(cell[0])) {
						t.Fatalf("a spreadsheet would run %q", cell)
					}
				}
			}
			if !x.History() {
				next += checkHeld(t, x, rows[next:])
			}
		}
		if next != len(rows) {
			t.Errorf("got %d rows, want %d", len(rows), next)
		}
	})
}

// checkHeld checks the rows of the memory of a device without a history, and
// returns how many they are.
func checkHeld(t *testing.T, x *analysis.Index, rows [][]string) int {
	t.Helper()
	alive := x.AliveAt(x.End())
	var sum int64
	for _, row := range rows[:len(alive)] {
		size, err := strconv.ParseInt(row[4], 10, 64)
		if err != nil || row[1] != "" || row[2] != "held" {
			t.Fatalf("the row %q is none of held memory: %v", row, err)
		}
		sum += size
	}
	if want := x.RequestedAt(x.End()); sum != want {
		t.Errorf("%d bytes are held, want %d", sum, want)
	}
	return len(alive)
}

func TestMoments(t *testing.T) {
	tests := map[string]struct {
		at        string
		devices   int
		event     int
		wrongText string
	}{
		"the peak":                          {"peak", 1, 736, ""},
		"the end":                           {"end", 1, 771, ""},
		"an event":                          {"100", 1, 100, ""},
		"before the first event":            {"-1", 1, -1, ""},
		"an event that there is not":        {"772", 1, 0, "device 0 has no event 772; its last is 771"},
		"an event of one of two devices":    {"100", 2, 0, "there are 2 devices, and event 100 is a moment of one"},
		"the peak of each of two devices":   {"peak", 2, 736, ""},
		"an event before what came before":  {"-2", 1, 0, `"-2" is not a moment; write peak, end or the number of an event`},
		"a word that does not say a moment": {"middle", 1, 0, `"middle" is not a moment; write peak, end or the number of an event`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr := pytorchtest.TinyTraining()
			if test.devices == 2 {
				tr = twice(tr)
			}
			var o export.Options
			err := o.At.Set(test.at)
			if err == nil && o.At.String() != test.at {
				t.Errorf("%q is written as %q", test.at, o.At.String())
			}
			var out strings.Builder
			if err == nil {
				err = formatNamed(t, "folded").Write(&out, tr, o)
			}
			if test.wrongText != "" {
				if err == nil || err.Error() != test.wrongText {
					t.Errorf("got %v, want %s", err, test.wrongText)
				}
				return
			}
			fatal.If(t, err)
			x := analysis.NewIndex(tr, &tr.Devices[0])
			if got, want := foldedBytes(t, out.String()), x.RequestedAt(test.event)*int64(test.devices); got != want {
				t.Errorf("got %d bytes, want %d", got, want)
			}
		})
	}
}

func foldedBytes(t *testing.T, text string) int64 {
	t.Helper()
	var sum int64
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		n, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
		fatal.If(t, err)
		sum += n
	}
	return sum
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no room left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestAFullDiskIsTold(t *testing.T) {
	for _, f := range export.Formats() {
		if err := f.Write(full{}, pytorchtest.TinyTraining(), export.Options{}); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want that there is no room", f.Name, err)
		}
	}
}
