package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
)

// sample is what one turn measured.
type sample struct {
	load       time.Duration // CPython's pickle.load
	loadPeak   int64
	report     time.Duration // memtop report --json, start to end: the median of a turn
	reportBest time.Duration // the shortest of them
	reportPeak int64
	firstFrame time.Duration // memtop open, start to the first frame
	usable     time.Duration // start to the overview
	openPeak   int64
}

func measure(ctx context.Context, o options, path string, copies int) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := warm(path); err != nil {
		return err
	}
	var samples []sample
	for i := range o.runs {
		s, err := turn(ctx, o, path)
		if err != nil {
			return err
		}
		fmt.Printf("turn %d: pickle.load %.2f s, report %.3f s, at best %.3f s, first frame %.0f ms, usable %.2f s\n",
			i+1, s.load.Seconds(), s.report.Seconds(), s.reportBest.Seconds(), 1000*s.firstFrame.Seconds(), s.usable.Seconds())
		samples = append(samples, s)
	}
	return table(os.Stdout, samples, copies, info.Size())
}

// warm reads the file once, so that no turn waits for the disk.
func warm(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // only read from
	_, err = io.Copy(io.Discard, f)
	return err
}

func turn(ctx context.Context, o options, path string) (sample, error) {
	var s sample
	for _, part := range []func(context.Context, string, string) error{s.python, s.runReport, s.runOpen} {
		if err := part(ctx, o.memtop, path); err != nil {
			return s, err
		}
	}
	return s, nil
}

// loadScript prints how long pickle.load takes, without starting Python.
const loadScript = `import pickle, sys, time
with open(sys.argv[1], "rb") as f:
    start = time.perf_counter()
    snapshot = pickle.load(f)
    print(time.perf_counter() - start, flush=True)
import os
os._exit(0)`

func (s *sample) python(ctx context.Context, _, path string) error {
	command := exec.CommandContext(ctx, "python3", "-c", loadScript, path)
	out, err := command.Output()
	if err != nil {
		return fmt.Errorf("pickle.load: %w", err)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return fmt.Errorf("pickle.load: %w", err)
	}
	s.load = time.Duration(seconds * float64(time.Second))
	s.loadPeak = terminal.PeakMemory(command.ProcessState)
	return nil
}

// runReport reports on the file several times.
func (s *sample) runReport(ctx context.Context, memtop, path string) error {
	var all []time.Duration
	for range repetitions {
		command := exec.CommandContext(ctx, memtop, "report", "--json", path)
		var told bytes.Buffer
		command.Stderr = &told
		start := time.Now()
		if err := command.Run(); err != nil {
			return fmt.Errorf("memtop report: %w: %s", err, told.Bytes())
		}
		all = append(all, time.Since(start))
		s.reportPeak = max(s.reportPeak, terminal.PeakMemory(command.ProcessState))
	}
	s.report, s.reportBest = middleAndLeast(all)
	return nil
}

// repetitions is how often what takes a moment only is done in a turn: chance has a larger
// part in it than in the seconds of pickle.load.
const repetitions = 11

func middleAndLeast(all []time.Duration) (middle, least time.Duration) {
	slices.Sort(all)
	return all[len(all)/2], all[0]
}

// runOpen opens the file.
func (s *sample) runOpen(ctx context.Context, memtop, path string) (err error) {
	s.firstFrame, s.usable, s.openPeak, err = open(ctx, exec.Command(memtop, "open", path))
	return err
}

// open opens a file and quits.
func open(ctx context.Context, command *exec.Cmd) (frame, usable time.Duration, peak int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	start := time.Now()
	t, err := terminal.Start(command, 120, 40)
	if err != nil {
		return 0, 0, 0, err
	}
	drawn := func(text string) bool { return strings.TrimSpace(text) != "" }
	if err := t.Until(ctx, drawn); err != nil {
		return 0, 0, 0, err
	}
	frame = time.Since(start)
	if err := t.Until(ctx, func(text string) bool { return strings.Contains(text, overviewMark) }); err != nil {
		return 0, 0, 0, err
	}
	usable = time.Since(start)
	if err := t.Press("q"); err != nil {
		return 0, 0, 0, err
	}
	_, peak, err = t.Wait(ctx)
	return frame, usable, peak, err
}

// overviewMark stands on the overview, whatever it is of, and on nothing that is shown
// before it.
const overviewMark = "Now, and at most"

// table prints medians and what they are compared with.
func table(out io.Writer, samples []sample, copies int, fileBytes int64) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, value, promise string) { fmt.Fprintf(w, "%s\t%s\t%s\n", name, value, promise) }
	row(fmt.Sprintf("%d copies", copies), mebibytes(fileBytes), fmt.Sprintf("medians of %d", len(samples)))
	decoded(row, samples, fileBytes)
	return w.Flush()
}

// decoded makes the rows of what reads all of the file.
func decoded(row func(name, value, promise string), samples []sample, fileBytes int64) {
	load := median(samples, func(s sample) time.Duration { return s.load })
	report := median(samples, func(s sample) time.Duration { return s.report })
	reportBest := best(samples, func(s sample) time.Duration { return s.reportBest })
	frame := median(samples, func(s sample) time.Duration { return s.firstFrame })
	usable := median(samples, func(s sample) time.Duration { return s.usable })
	reportPeak := worst(samples, func(s sample) int64 { return s.reportPeak })
	openPeak := worst(samples, func(s sample) int64 { return s.openPeak })
	loadPeak := worst(samples, func(s sample) int64 { return s.loadPeak })
	row("pickle.load", seconds(load), "peak "+mebibytes(loadPeak))
	row("memtop report --json", seconds(report), fmt.Sprintf("%.0f MB/s, best %s", float64(fileBytes)/1e6/report.Seconds(), seconds(reportBest)))
	row("  times faster", fmt.Sprintf("%.1f", load.Seconds()/report.Seconds()), "promised 8, asked for 20")
	row("  peak memory", mebibytes(reportPeak), "")
	row("  of the file's size", fmt.Sprintf("%.2f", float64(reportPeak)/float64(fileBytes)), "promised 0.75, aim 0.5")
	row("memtop open, first frame", fmt.Sprintf("%.0f ms", 1000*frame.Seconds()), "promised 150 ms")
	row("  usable", seconds(usable), "")
	row("  after the report's time", seconds(usable-report), "promised 0.2 s")
	row("  peak memory", mebibytes(openPeak), fmt.Sprintf("%.2f of the file's size", float64(openPeak)/float64(fileBytes)))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

func median(samples []sample, of func(sample) time.Duration) time.Duration {
	middle, _ := middleAndLeast(each(samples, of))
	return middle
}

func each(samples []sample, of func(sample) time.Duration) []time.Duration {
	values := make([]time.Duration, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return values
}

// best is the shortest time.
func best(samples []sample, of func(sample) time.Duration) time.Duration {
	return slices.Min(each(samples, of))
}

func worst(samples []sample, of func(sample) int64) int64 {
	var most int64
	for _, s := range samples {
		most = max(most, of(s))
	}
	return most
}
