package difference_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/difference"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

func peakOf(tr *trace.Trace) difference.Side {
	x := analysis.NewIndex(tr, &tr.Devices[0])
	return difference.Side{Index: x, At: x.Summary().PeakEvent}
}

// TestTheDifferenceThatMixedPrecisionMakesIsExplained compares the same step without and
// with autocast, at the peaks.
func TestTheDifferenceThatMixedPrecisionMakesIsExplained(t *testing.T) {
	dir := pytorchtest.SharedFolder(t)
	a, b := onfile.Trace(t, filepath.Join(dir, "step_fp32.torch2.5.pickle")), onfile.Trace(t, filepath.Join(dir, "step_amp.torch2.5.pickle"))
	d := difference.Of(difference.Merge(a.Tables, b.Tables), peakOf(a), peakOf(b))
	check(t, d)
	if e := d.Explained(); e.Either*100 < 90*e.Bytes || e.Category*100 < 90*e.Bytes {
		t.Errorf("of %d bytes only %d are explained, %d by category", e.Bytes, e.Either, e.Category)
	}
	want := countCasts(peakOf(b)) - countCasts(peakOf(a))
	for _, c := range d.Causes() {
		switch c.Kind {
		case difference.Cast:
			if c.Row.Delta() != want || want == 0 || !strings.Contains(d.Text(&c), "autocast runs after and not before") {
				t.Errorf("copies of autocast: got %s, %d bytes, want %d", d.Text(&c), c.Row.Delta(), want)
			}
		case difference.Scaled:
			if c.Factor != (difference.Factor{Times: 1, Over: 2}) || c.Row.Bytes[0] != 2*c.Row.Bytes[1] || c.Row.Count[0] != c.Row.Count[1] {
				t.Errorf("half precision: got %+v", c.Row)
			}
		default: // check has looked at it
		}
	}
}

func countCasts(s difference.Side) int64 {
	var sum int64
	tables := s.Index.Trace().Tables
	for _, a := range s.Index.AliveAt(s.At) {
		for _, frame := range tables.Stack(a.Stack) {
			if strings.HasPrefix(tables.String(tables.Frames[frame].Name), "at::autocast::cached_cast(") {
				sum += a.Size
				break
			}
		}
	}
	return sum
}

// check compares every table of a difference with sums over all that is alive.
func check(t *testing.T, d *difference.Difference) {
	t.Helper()
	var whole [2]int64
	categories := make(map[string][2]int64)
	places := make(map[string][2]int64)
	for side, s := range d.Sides {
		tables := s.Index.Trace().Tables
		for _, a := range s.Index.AliveAt(s.At) {
			whole[side] += a.Size
			category, _ := s.Index.Category(a)
			for names, name := range map[*map[string][2]int64]string{&categories: category.String(), &places: lineOf(tables, a)} {
				sums := (*names)[name]
				sums[side] += a.Size
				(*names)[name] = sums
			}
		}
	}
	for _, r := range d.Categories() {
		if r.Bytes != categories[r.Name] {
			t.Errorf("%s: got %v, want %v", r.Name, r.Bytes, categories[r.Name])
		}
	}
	sums := make(map[string][2]int64)
	for what, rows := range map[string][]difference.Row{"lines": d.Lines(lines.Line), "modules": d.Lines(lines.Module), "phases": d.Phases()} {
		for _, r := range rows {
			sum := sums[what]
			sums[what] = [2]int64{sum[0] + r.Bytes[0], sum[1] + r.Bytes[1]}
			if name := r.Name; what == "lines" && r.Own && r.Bytes != places[d.Merged.Tables().FrameText(r.Frame)] {
				t.Errorf("%s: got %v, want %v", name, r.Bytes, places[d.Merged.Tables().FrameText(r.Frame)])
			}
		}
	}
	var changes int64
	for _, c := range d.Causes() {
		changes += c.Row.Delta()
	}
	if sums["lines"] != whole || sums["modules"] != whole || sums["phases"] != whole || d.Bytes() != whole || changes != whole[1]-whole[0] {
		t.Errorf("got %v, %v and causes of %d, want %v", sums, d.Bytes(), changes, whole)
	}
}

var notOwn = regexp.MustCompile(`site-packages|^<frozen|/torch/|[/\\]lib[/\\]python3|cpython-|torchinductor`)

// lineOf finds the program's innermost line by looking at every frame.
func lineOf(t *trace.Tables, a trace.Allocation) string {
	if a.FreeStack {
		return ""
	}
	for _, id := range t.Stack(a.Stack) {
		if file := t.String(t.Frames[id].File); strings.HasSuffix(file, ".py") && !notOwn.MatchString(file) {
			return t.FrameText(id)
		}
	}
	return ""
}

func TestTablesOfRealFilesEqualACountOfAllLiveBlocks(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		tr := onfile.Trace(t, path)
		merged := difference.Merge(tr.Tables, tr.Tables)
		for i := range tr.Devices {
			x := analysis.NewIndex(tr, &tr.Devices[i])
			peak := x.Summary().PeakEvent
			for _, other := range []int{-1, x.End() / 2, x.End(), peak} {
				d := difference.Of(merged, difference.Side{Index: x, At: peak}, difference.Side{Index: x, At: other})
				check(t, d)
				if n := len(d.Causes()); other == peak && n != 0 {
					t.Errorf("%s: a moment differs from itself by %d causes", path, n)
				}
			}
		}
	}
}
