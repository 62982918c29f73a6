package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
)

// opening holds the measurements of one turn.
type opening struct {
	load, report, reportBest    time.Duration // CPython's pickle.load; memtop report --json: the median of a turn, and the shortest
	frame, usable               time.Duration // memtop open, from the start to the first frame, and to the overview
	loadPeak, reportPeak, usage int64         // bytes that each had resident at most
}

// errSkip says that this machine lacks something that the benchmark needs.
var errSkip = errors.New("skipped")

// open measures memtop's promises for large files, side by side with CPython's
// pickle.load. It grows a real snapshot to a large one. Then, in turn, Python
// loads it, memtop reports on it, and memtop opens it on a screen. Ratios are of
// medians.
func open(ctx context.Context, o *options) error {
	folder, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for copies := range strings.SplitSeq(o.copies, ",") {
		path, err := grow(ctx, o, folder, copies)
		if errors.Is(err, errSkip) {
			fmt.Println(err)
			return nil
		}
		if err == nil {
			err = measureFile(ctx, o, path, copies)
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shared is the folder of the real snapshots and of grow_snapshot.py.
const shared = "../shared"

// grow makes a file of a number of copies of a real snapshot.
func grow(ctx context.Context, o *options, folder, copies string) (string, error) {
	path := filepath.Join(folder, "training_medium_512."+copies+".pickle")
	snapshot := filepath.Join(shared, "snapshots", "training_medium_512.torch2.10.pickle")
	tool := filepath.Join(shared, "tools", "grow_snapshot.py")
	for _, needed := range []string{snapshot, tool} {
		if _, err := os.Stat(needed); err != nil {
			return "", fmt.Errorf("%w: %s is not here", errSkip, needed)
		}
	}
	if _, err := exec.LookPath("python3"); err != nil {
		return "", fmt.Errorf("%w: there is no python3 to compare with", errSkip)
	}
	fmt.Printf("growing %s copies\n", copies)
	command := exec.CommandContext(ctx, "python3", tool, snapshot, path, copies)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("growing the snapshot: %w", err)
	}
	return path, nil
}

func measureFile(ctx context.Context, o *options, path, copies string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()                     // only read from
	size, err := io.Copy(io.Discard, f) // so that no turn waits for the disk
	if err != nil {
		return err
	}
	var all []opening
	turns := newTable(os.Stdout, copies+" copies, turn", "pickle.load", "report", "at best", "first frame", "usable")
	for i := range o.runs {
		var t opening
		for _, part := range []func(context.Context, string, string) error{t.python, t.reports, t.screen} {
			if err := part(ctx, o.memtop, path); err != nil {
				return err
			}
		}
		turns.row(strconv.Itoa(i+1), seconds(t.load), seconds(t.report), seconds(t.reportBest), milliseconds(t.frame), seconds(t.usable))
		all = append(all, t)
	}
	summarize(all, copies, size)
	return nil
}

// loadScript prints how long pickle.load takes, without Python's start.
const loadScript = `import pickle, sys, time
with open(sys.argv[1], "rb") as f:
    start = time.perf_counter()
    snapshot = pickle.load(f)
    print(time.perf_counter() - start, flush=True)
import os
os._exit(0)`

func (t *opening) python(ctx context.Context, _, path string) error {
	command := exec.CommandContext(ctx, "python3", "-c", loadScript, path)
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("pickle.load: %w", err)
	}
	t.load, err = time.ParseDuration(strings.TrimSpace(string(out)) + "s")
	t.loadPeak = terminal.PeakMemory(command.ProcessState)
	return err
}

// repetitions is how often a turn repeats a short measurement, because chance
// affects it more than the seconds of pickle.load.
const repetitions = 11

func (t *opening) reports(ctx context.Context, memtop, path string) error {
	var all []time.Duration
	for range repetitions {
		command := exec.CommandContext(ctx, memtop, "report", "--json", path)
		var told bytes.Buffer
		command.Stderr = &told
		began := time.Now()
		if err := command.Run(); err != nil {
			return fmt.Errorf("memtop report: %w: %s", err, told.Bytes())
		}
		all = append(all, time.Since(began))
		t.reportPeak = max(t.reportPeak, terminal.PeakMemory(command.ProcessState))
	}
	t.report, t.reportBest = median(all), slices.Min(all)
	return nil
}

// overviewMark is a text that every overview shows, and no screen before it.
const overviewMark = "Now, and at most"

func (t *opening) screen(ctx context.Context, memtop, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	began := time.Now()
	m, err := (&options{memtop: memtop}).show(ctx, size{120, 40}, func(text string) bool { return strings.TrimSpace(text) != "" }, "open", path)
	if err != nil {
		return err
	}
	t.frame = time.Since(began)
	err = m.Until(ctx, func(text string) bool { return strings.Contains(text, overviewMark) })
	t.usable = time.Since(began)
	err = errors.Join(err, m.Press("q"))
	_, peak, ended := m.Wait(ctx)
	t.usage = peak
	return errors.Join(err, ended)
}

// summarize prints medians and the goals for them.
func summarize(all []opening, copies string, size int64) {
	middle := func(of func(opening) time.Duration) time.Duration { return median(each(all, of)) }
	most := func(of func(opening) int64) int64 { return slices.Max(each(all, of)) }
	load := middle(func(t opening) time.Duration { return t.load })
	report := middle(func(t opening) time.Duration { return t.report })
	usable := middle(func(t opening) time.Duration { return t.usable })
	reportPeak := most(func(t opening) int64 { return t.reportPeak })
	usage := most(func(t opening) int64 { return t.usage })
	t := newTable(os.Stdout, copies+" copies", mebibytes(size), fmt.Sprintf("medians of %d", len(all)))
	t.row("pickle.load", seconds(load), "peak "+mebibytes(most(func(t opening) int64 { return t.loadPeak })))
	t.row("memtop report --json", seconds(report), fmt.Sprintf("%.0f MB/s", float64(size)/1e6/report.Seconds()))
	t.row("  at best", seconds(slices.Min(each(all, func(t opening) time.Duration { return t.reportBest }))))
	t.row("  times faster", fmt.Sprintf("%.1f", load.Seconds()/report.Seconds()), "promised 8, asked for 20")
	t.row("  peak memory", mebibytes(reportPeak))
	t.row("  of the file's size", fmt.Sprintf("%.2f", float64(reportPeak)/float64(size)), "promised 0.75, aim 0.5")
	t.row("memtop open, first frame", milliseconds(middle(func(t opening) time.Duration { return t.frame })), "promised 150 ms")
	t.row("  usable", seconds(usable))
	t.row("  after the report's time", seconds(usable-report), "promised 0.2 s")
	t.row("  peak memory", mebibytes(usage), fmt.Sprintf("%.2f of the file's size", float64(usage)/float64(size)))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
