package export_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/export"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestPagesNeedNothingElse holds that nothing in a page names anything outside of
// it, that its script is ours, whatever the names in the file are, and that the
// policy allows no other.
func TestPagesNeedNothingElse(t *testing.T) {
	outside := regexp.MustCompile(`(?i)<(script|link|iframe|img|object|embed|base)\b|\b(src|action|on[a-z]+)\s*=\s*["']|\bhref\s*=\s*["'][^#]|url\(|@import|https?:`)
	numbers := regexp.MustCompile(`<script type="application/json">[^<]*</script>`)
	script := fatal.Read(t, "page.js")
	hash := sha256.Sum256(script)
	policy := regexp.MustCompile(`content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-([^"']+)'"`)
	forAll(t, "html", func(t *testing.T, tr *trace.Trace, out []byte) {
		t.Helper()
		page := string(out)
		found := policy.FindStringSubmatch(page)
		if found == nil || html.UnescapeString(found[1]) != base64.StdEncoding.EncodeToString(hash[:]) {
			t.Errorf("the policy is %q and not that of our script", found)
		}
		rest, some := strings.CutSuffix(page, "<script>"+string(script)+"</script>\n</body>\n</html>\n")
		if !some {
			t.Error("the page does not end in our script")
		}
		if name := outside.FindString(numbers.ReplaceAllString(rest, "")); name != "" {
			t.Errorf("the page has %q", name)
		}
		noControls(t, strings.ReplaceAll(page, "\n", ""))
		if strings.Count(page, "<h2 ") != len(tr.Devices) {
			t.Errorf("the page has not a part for each of %d devices", len(tr.Devices))
		}
		if strings.Contains(page, "ZgotmplZ") {
			t.Error("the template refused a value")
		}
	})
}

// fleeting is a trace with a category that is never there when memory is at the
// highest level of a column.
func fleeting() *trace.Trace {
	in := trace.NewInterner()
	note := func(category string) trace.NoteID { return in.Note(trace.Note{Category: in.String(category)}) }
	parameter, input, activation := note("parameter"), note("input"), note("activation")
	var log trace.EventLog
	add := func(kind trace.Kind, addr uint64, size int64, note trace.NoteID) {
		log.Append(trace.Event{Kind: kind, Addr: addr, Size: size, Note: note, Time: 1_000_000 + int64(log.Len())*500})
	}
	add(trace.Alloc, 0, 1<<20, parameter)
	for i := range 3000 {
		add(trace.Alloc, 1<<30, 1<<10, input)
		add(trace.FreeCompleted, 1<<30, 1<<10, input)
		add(trace.Alloc, 2<<30, int64(1+i)<<10, activation)
		add(trace.FreeCompleted, 2<<30, int64(1+i)<<10, activation)
	}
	tables := in.View()
	return &trace.Trace{Tables: &tables, Devices: []trace.Device{{Events: log.Events()}}}
}

// TestLegendsHaveEveryCategoryThatOccurs also checks what the script reads.
func TestLegendsHaveEveryCategoryThatOccurs(t *testing.T) {
	item := regexp.MustCompile(`<li><span class="key (c\d+|reserved)"></span>([^<]+) <output>([^<]+)</output></li>`)
	tests := map[string]struct {
		trace *trace.Trace
		want  string
	}{
		"one that is never there at a high level": {fleeting(), "parameter 1.0 MiB, activation 2.9 MiB, input 0 B, reserved 0 B"},
		"all of a training run": {
			pytorchtest.TinyTraining(),
			"parameter 34.0 MiB, gradient 0 B, optimizer 56.0 MiB, activation 100.0 MiB, backward-temporary 0 B, " +
				"input 512.0 KiB, reserved 224.0 MiB",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			page := string(written(t, test.trace, "html", export.Options{}))
			var got []string
			for _, found := range item.FindAllStringSubmatch(page, -1) {
				got = append(got, found[2]+" "+found[3])
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("the legend is %q, want %q", strings.Join(got, ", "), test.want)
			}
			checkData(t, analysis.NewIndex(test.trace, &test.trace.Devices[0]), page)
		})
	}
}

// checkData compares every column of what the script reads with the trace.
func checkData(t *testing.T, x *analysis.Index, page string) {
	t.Helper()
	_, rest, _ := strings.Cut(page, `<script type="application/json">`)
	text, _, _ := strings.Cut(rest, "</script>")
	var data struct {
		Events         int
		At             []int
		Time, Reserved []int64
		Bands          [][]int64
		Top            int64
	}
	fatal.If(t, json.Unmarshal([]byte(text), &data))
	if data.Events != x.End()+1 || len(data.At) != min(data.Events, 2000) || data.Top < x.Summary().PeakRequested {
		t.Fatalf("%d columns of %d events up to %d bytes", len(data.At), data.Events, data.Top)
	}
	for c, at := range data.At {
		var total int64
		for _, band := range data.Bands {
			total += band[c]
		}
		if total != x.RequestedAt(at) || data.Reserved[c] != x.ReservedAt(at) {
			t.Fatalf("column %d, event %d: %d bytes live and %d reserved, want %d and %d",
				c, at, total, data.Reserved[c], x.RequestedAt(at), x.ReservedAt(at))
		}
		events := x.Device().Events
		if want := events.At(at).Time - events.At(0).Time; data.Time[c] != want {
			t.Fatalf("column %d, event %d: at %d µs, want %d", c, at, data.Time[c], want)
		}
	}
}

// manyStacks is a trace with more stacks than a page can draw, deep and with long names.
func manyStacks() *trace.Trace {
	in := trace.NewInterner()
	var log trace.EventLog
	for i := range 2500 {
		var frames []trace.FrameID
		for depth := range 80 {
			file := fmt.Sprintf("/home/someone/a-project/package%d/module%d.py", i%7, i>>min(depth, 13))
			frames = append(frames, in.Frame(trace.Frame{File: in.String(file), Line: int32(i%97 + 1), Name: in.String("function_with_a_name")}))
		}
		log.Append(trace.Event{Kind: trace.Alloc, Addr: uint64(i+1) << 20, Size: int64(1+i%40) << 12, Stack: in.Stack(frames), Time: int64(i)})
	}
	tables := in.View()
	return &trace.Trace{Tables: &tables, Devices: []trace.Device{{Events: log.Events()}}}
}

// TestAPageCanBeSent holds pages to the size of what people attach, whatever is in the file.
func TestAPageCanBeSent(t *testing.T) {
	page := string(written(t, manyStacks(), "html", export.Options{}))
	if boxes := strings.Count(page, `role="treeitem"`); len(page) > 2<<20 || boxes > 1500 || boxes < 100 {
		t.Errorf("the page has %d bytes and %d boxes", len(page), boxes)
	}
}

// TestAPageBeginsWithTheAnswer opens pages at the first problem, with what a replay
// found of it, else at the peak.
func TestAPageBeginsWithTheAnswer(t *testing.T) {
	training := pytorchtest.TinyTraining()
	replayed := export.Options{AtAnswer: true}
	replayed.Index(training)
	replayed.Report = report.Of(training, replayed.Indexes)
	found := &replayed.Report.Devices[0].Findings
	*found = append([]report.Finding{{Severity: "warning", Text: "Found by <a replay>"}}, *found...)
	state := traces()["no events"]
	for name, test := range map[string]struct {
		trace   *trace.Trace
		options export.Options
		want    []string
	}{
		"out of memory":    {training, export.Options{AtAnswer: true}, []string{`<div class="answer problem">`, "<p>Out of memory at event 745", "an 8-bit optimizer: 28.0 MiB, estimated", "186.6 MiB live after event 745"}},
		"more than asked":  {training, replayed, []string{`<div class="answer info">`, "<p>The peak is", "Found by &lt;a replay&gt;", "Out of memory at event 745", "190.6 MiB live at the peak"}},
		"a moment of ours": {training, export.Options{At: analysis.Peak}, []string{"<p>Out of memory at event 745", "190.6 MiB live at the peak, after event 736"}},
		"only a state":     {state, export.Options{AtAnswer: true}, []string{`<div class="answer info">`, "is in use", "live at the end; no history was recorded"}},
	} {
		t.Run(name, func(t *testing.T) {
			page := string(written(t, test.trace, "html", test.options))
			answer, _, _ := strings.Cut(page, "<h3>By line</h3>")
			for _, want := range test.want {
				if !strings.Contains(answer, want) {
					t.Errorf("no %q in\n%s", want, answer[:min(len(answer), 9000)])
				}
			}
		})
	}
}
