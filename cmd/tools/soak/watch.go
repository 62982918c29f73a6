package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
)

// watch is a memtop that looks at a program, and what it took.
type watch struct {
	name     string
	command  *exec.Cmd
	terminal *terminal.Terminal
	key      int     // what is pressed next
	resident []int64 // by second
	since    int64   // the most since the last line
	peak     int64   // the most ever, as the kernel counts it
}

// pages are looked at in turns, each with what a reader would press there:
// moving, opening, going back in time for a while and to the end again, freezing
// until all that is shown was let go.
var pages = [...]string{
	"1", "2", "jj", "\r", "\x1b", "3", "j\r", "\x1b", "\x1b", "4", "hhh", "+", "-", "\r", "\x1b", "$", "5", "jj", "6", "j\r", "e", "w", "\x1b",
	"7", "G", "k", "$", "8", "C", "y", "A", "y", "1", "^", "4", "5", "7", "$", "p", "", "", "", "$", "6", " ", "", "", "", "", "", "", "", "", "", "", "", "", "3", "", " ",
}

// start makes a program of that name and a memtop that looks at it.
func start(ctx context.Context, o options, name, folder string) (*watch, error) {
	command := exec.CommandContext(ctx, o.memtop, "demo")
	if name != "demo" {
		p, err := startProgram(ctx, folder, name == "names")
		if err != nil {
			return nil, err
		}
		command = exec.CommandContext(ctx, o.memtop, "attach", p.probe.Path())
	}
	t, err := terminal.Start(command, 120, 40)
	if err != nil {
		return nil, err
	}
	w := &watch{name: name, command: command, terminal: t}
	ready, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = t.Until(ready, func(text string) bool { return strings.Contains(text, "step ") })
	if err != nil {
		return nil, errors.Join(err, w.end())
	}
	return w, nil
}

// second presses the next key and measures.
func (w *watch) second() error {
	if err := w.terminal.Press(pages[w.key%len(pages)]); err != nil {
		return err
	}
	w.key++
	resident, peak, err := memoryOf(w.command.Process.Pid)
	if resident == 0 {
		err = fmt.Errorf("memtop has ended:\n%s", w.terminal.Text())
	}
	w.resident = append(w.resident, resident)
	w.since, w.peak = max(w.since, resident), peak
	return err
}

// judge says whether the memory was bounded.
func (w *watch) judge(o options) error {
	third := len(w.resident) / 3
	middle, last := median(w.resident[third:2*third]), median(w.resident[2*third:])
	fmt.Printf("%s: most ever %.1f MB; median of the middle third %.1f MB, of the last %.1f MB\n",
		w.name, megabytes(w.peak), megabytes(middle), megabytes(last))
	switch {
	case w.peak > o.limit:
		return fmt.Errorf("%s: memtop took %.1f MB, more than %.1f MB", w.name, megabytes(w.peak), megabytes(o.limit))
	case last > middle+middle/20:
		return fmt.Errorf("%s: memtop's memory still grows", w.name)
	}
	return nil
}

func median(list []int64) int64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// end interrupts the memtop.
func (w *watch) end() error {
	err := w.terminal.Press("\x03")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, _, waited := w.terminal.Wait(ctx)
	return errors.Join(err, waited)
}

// memoryOf returns what a process has resident now and had at most, in bytes.
func memoryOf(pid int) (resident, peak int64, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// A field that is another one leaves its number as it is.
		_, _ = fmt.Sscanf(lines.Text(), "VmRSS: %d kB", &resident)
		_, _ = fmt.Sscanf(lines.Text(), "VmHWM: %d kB", &peak)
	}
	return resident << 10, peak << 10, nil
}
