package truthtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/report"
)

const (
	mean, worst = 5.0, 15.0 // percent of the bytes at a peak that may have a wrong category
	notKnown    = 10.0      // percent in the mean that may be said to be not known
	tolerance   = 2         // percent of the changed program's peak by which a saving may be off
)

// unproved are kinds of findings whose saving no changed run shows: what is reserved and
// not in use changes no peak of allocated memory (a replay says what expandable_segments
// saves), and what a growth holds may be needed.
var unproved = []string{"pending_free", "growth"}

// peak returns what a kind of findings is about.
func (d *Device) peak(kind string) int64 {
	if kind == "expandable_segments" {
		return d.Reserved
	}
	return d.Peak
}

// TestAnswersAreTrue prints a table of the programs that are named in $MEMTOP_TRUTH, by spaces, or of all.
// $MEMTOP_TRUTH_FOLDER keeps the snapshots; with $MEMTOP_TRUTH_KEPT, those that are there are not made again.
func TestAnswersAreTrue(t *testing.T) {
	all := programs(t)
	runner := Runner{Python: cudaPython(t), Folder: os.Getenv("MEMTOP_TRUTH_FOLDER"), Kept: os.Getenv("MEMTOP_TRUTH_KEPT") != ""}
	if runner.Folder == "" {
		runner.Folder = t.TempDir()
	}
	peaks, late := &mislabelled{}, &mislabelled{}
	for _, program := range all {
		t.Run(program, func(t *testing.T) {
			folder, told := runChanged(t, &runner, program, "")
			answers, err := Ask(t.Context(), folder, told)
			fatal.If(t, err)
			late.ask(t, filepath.Join(folder, "late"))
			for i := range answers {
				a := &answers[i]
				at := a.Worst()
				most, _ := a.Mislabelled(at)
				t.Logf("%-16s device %d  peak %-10s  mislabelled %s at the peak, at most %.1f%% at %d other moments",
					program, a.Number, quantity.Bytes(a.Peak), peaks.add(a), most, len(a.Moments)-1)
				if most > worst {
					t.Errorf("%.1f%% of the bytes after event %d are mislabelled, want at most %.0f%%", most, a.Moments[at].Event, worst)
				}
				for _, w := range a.Wrong[at] {
					if w.Bytes*200 > a.Allocated[at] {
						t.Logf("    %10s  %4d blocks are %s, said to be %s (%s): %s", quantity.Bytes(w.Bytes), w.Count, w.Right, w.Said, w.Rule, w.Where)
					}
				}
				checkSteps(t, a)
				checkCapacity(t, a)
				checkHolders(t, told, a)
				if told.Fits != nil && (len(answers) == 1 || len(a.Report.OOM) > 0) {
					checkFits(t, &runner, program, told, a)
				}
				for _, f := range a.Report.Findings {
					checkFinding(t, &runner, program, told, a, &f)
				}
			}
			for _, kind := range told.Expect {
				if !slices.ContainsFunc(answers, func(a Answers) bool {
					return slices.ContainsFunc(a.Report.Findings, func(f report.Finding) bool { return f.Kind == kind })
				}) {
					t.Errorf("    MISSING: no finding is a %s", kind)
				}
			}
		})
	}
	peaks.check(t, "peaks")
	late.check(t, "peaks of histories that begin late")
}

// mislabelled sums up what is mislabelled, and what is said to be not known.
type mislabelled struct{ wrong, unknown, count float64 }

// add adds a device's peak, and says its shares.
func (m *mislabelled) add(a *Answers) string {
	wrong, unknown := a.Mislabelled(0)
	m.wrong, m.unknown, m.count = m.wrong+wrong, m.unknown+unknown, m.count+1
	return fmt.Sprintf("%4.1f%% (not known %.1f%%)", wrong, unknown)
}

// ask compares a history, if there is one in the folder.
func (m *mislabelled) ask(t *testing.T, folder string) {
	t.Helper()
	told, err := Read(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	answers, err := Ask(t.Context(), folder, told)
	fatal.If(t, err)
	for i := range answers {
		a := &answers[i]
		t.Logf("    begun late: mislabelled %s at a peak of %s", m.add(a), quantity.Bytes(a.Peak))
		share, _ := a.Mislabelled(0)
		for _, w := range a.Wrong[0] {
			if share > worst {
				t.Errorf("    %10s  %4d blocks are %s, said to be %s (%s): %s", quantity.Bytes(w.Bytes), w.Count, w.Right, w.Said, w.Rule, w.Where)
			}
		}
	}
}

func (m *mislabelled) check(t *testing.T, what string) {
	t.Helper()
	if wrong, unknown := m.wrong/max(1, m.count), m.unknown/max(1, m.count); wrong > mean || unknown > notKnown {
		t.Errorf("in the mean of %.0f %s %.1f%% are mislabelled and %.1f%% not known, want at most %.0f%% and %.0f%%", m.count, what, wrong, unknown, mean, notKnown)
	} else {
		t.Logf("in the mean of %.0f %s %.1f%% are mislabelled and %.1f%% not known", m.count, what, wrong, unknown)
	}
}

func checkSteps(t *testing.T, a *Answers) {
	t.Helper()
	said := a.Report.Steps
	if said != nil && said.Count > 0 && said.Count != len(a.Steps) {
		t.Errorf("    there are %d steps, said to be %d from %q: %v, %v", len(a.Steps), said.Count, said.From, a.Steps, said.Peaks)
	}
}

func checkHolders(t *testing.T, told *Told, a *Answers) {
	t.Helper()
	for i, want := range told.Holders {
		if i >= len(a.Report.LinesAtPeak) || a.Report.LinesAtPeak[i].Function != want {
			t.Errorf("    %v hold most, said are %+v", told.Holders, a.Report.LinesAtPeak)
			return
		}
	}
}

// checkCapacity holds what a replay gives its runs against what the device had. A
// request that failed on its own says it exactly.
func checkCapacity(t *testing.T, a *Answers) {
	t.Helper()
	r := &a.Replayed.Recorded
	if r.Capacity > a.Capacity || r.Refused > 0 && r.Refused <= a.Capacity {
		t.Errorf("    the process could have %d bytes; known are %d, and that %d was refused", a.Capacity, r.Capacity, r.Refused)
	}
	for _, run := range a.Replayed.Savings() {
		if r.Capacity > 0 && run.Reserved > a.Capacity {
			t.Errorf("    %s is proposed and takes %d bytes of %d", run.Settings, run.Reserved, a.Capacity)
		}
	}
}

// changes has the names of changes that would have made a program fit, by the text. A
// batch has its percents.
var changes = map[string]string{
	"an 8-bit optimizer": "optimizer_state", "checkpointing each layer": "checkpointing",
	"the loss over an eighth of the tokens at a time": "logits",
}

// checkFits has a program that ran out of memory make each change that would have made
// it fit. An allocator's settings are replayed and not tried here.
func checkFits(t *testing.T, runner *Runner, program string, told *Told, a *Answers) {
	t.Helper()
	if *told.Fits || len(a.Report.OOM) != 1 {
		t.Fatalf("    memory was enough: %v; %d requests ran out of memory", *told.Fits, len(a.Report.OOM))
	}
	for _, would := range a.Report.OOM[0].WouldFit {
		change := changes[would.Text]
		var percent int
		if n, _ := fmt.Sscanf(would.Text, "a batch %d%% smaller", &percent); n == 1 {
			change = fmt.Sprintf("batch=%d", percent)
		}
		if change == "" {
			t.Logf("    would fit with %s", would.Text)
			continue
		}
		_, changed := runChanged(t, runner, program, change)
		if *changed.Fits {
			t.Logf("    would fit with %s: right", would.Text)
		} else {
			t.Errorf("    would fit with %s: WRONG, memory runs out", would.Text)
		}
	}
}

func runChanged(t *testing.T, runner *Runner, program, change string) (string, *Told) {
	t.Helper()
	folder, err := runner.Run(t.Context(), program, change)
	fatal.If(t, err)
	told, err := Read(folder)
	fatal.If(t, err)
	return folder, told
}

// checkFinding has the program make the change that a finding proposes, and compares the peaks.
// The peak of a program that ran out of memory would have been another.
func checkFinding(t *testing.T, runner *Runner, program string, told *Told, a *Answers, f *report.Finding) {
	t.Helper()
	line := fmt.Sprintf("    %-16s %s", f.Kind, f.Text)
	reason, wrong := told.Wrong[f.Kind]
	switch {
	case wrong:
		t.Errorf("%s\n        WRONG: %s", line, reason)
	case f.SavingBytes == 0, told.Fits != nil, slices.Contains(unproved, f.Kind) && !slices.Contains(told.Changes, f.Kind):
		t.Log(line)
	case !slices.Contains(told.Changes, f.Kind):
		t.Errorf("%s\n        NOT PROVED: the program cannot make this change", line)
	default:
		_, changed := runChanged(t, runner, program, f.Kind)
		i := slices.IndexFunc(changed.Devices, func(d Device) bool { return d.Number == a.Number })
		peak := changed.Devices[i].peak(f.Kind)
		saved, least, most := a.peak(f.Kind)-peak, f.SavingBytes, max(f.SavingBytes, f.MostBytes)
		verdict := fmt.Sprintf("saving %s said, %s true", quantity.Bytes(least), quantity.Bytes(saved))
		if most > least {
			verdict = fmt.Sprintf("saving %s to %s said, %s true", quantity.Bytes(least), quantity.Bytes(most), quantity.Bytes(saved))
		}
		if 100*max(least-saved, saved-most) > tolerance*peak {
			t.Errorf("%s\n        WRONG: %s", line, verdict)
		} else {
			t.Logf("%s\n        right: %s", line, verdict)
		}
	}
}

func programs(t *testing.T) []string {
	t.Helper()
	switch wanted := os.Getenv("MEMTOP_TRUTH"); wanted {
	case "":
		t.Skip("MEMTOP_TRUTH is not set: make truth")
		return nil
	case "all":
		files, err := filepath.Glob("programs/*.py")
		fatal.If(t, err)
		var all []string
		for _, file := range files {
			if name := strings.TrimSuffix(filepath.Base(file), ".py"); !slices.Contains([]string{"truth", "parts", "train", "unet"}, name) {
				all = append(all, name)
			}
		}
		return all
	default:
		return strings.Fields(wanted)
	}
}

// cudaPython returns an interpreter with PyTorch's CUDA build, or skips the test.
func cudaPython(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("importing PyTorch takes seconds each time")
	}
	python := os.Getenv("MEMTOP_TORCH_PYTHON")
	if python == "" {
		python = "python3"
	}
	const version = `import importlib.util as u, runpy; assert runpy.run_path(u.find_spec("torch").submodule_search_locations[0] + "/version.py")["cuda"]`
	if err := exec.CommandContext(t.Context(), python, "-c", version).Run(); err != nil {
		t.Skipf("%s has no PyTorch with CUDA: set MEMTOP_TORCH_PYTHON to an interpreter that has", python)
	}
	return python
}
