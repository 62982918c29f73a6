package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"

	"golang.org/x/sys/unix"
)

// size is the size of a screen.
type size struct{ w, h int }

// screen is a memtop in a pseudo-terminal.
type screen struct {
	*terminal.Terminal
	pid int
}

// show starts memtop on a screen and waits until the screen shows the awaited
// text.
func (o *options) show(ctx context.Context, s size, awaited func(text string) bool, args ...string) (*screen, error) {
	command := exec.CommandContext(ctx, o.memtop, args...)
	t, err := terminal.Start(command, s.w, s.h)
	if err != nil {
		return nil, err
	}
	shown := &screen{t, command.Process.Pid}
	if err := t.Until(ctx, awaited); err != nil {
		return nil, errors.Join(err, t.Kill(), shown.ended(ctx))
	}
	return shown, nil
}

// leave quits memtop.
func (s *screen) leave(ctx context.Context) error { return errors.Join(s.Press("q"), s.ended(ctx)) }

func (s *screen) ended(ctx context.Context) error {
	_, _, err := s.Wait(ctx)
	return err
}

// shares adds a row for the page that some keys open, once it has settled: the
// bytes sent to the terminal, and memtop's share of a core.
func (s *screen) shares(ctx context.Context, o *options, t *table, keys, name string) error {
	if err := errors.Join(s.Press(keys), pause(ctx, time.Second)); err != nil {
		return err
	}
	bytes, used, began := s.Written(), processorTime(s.pid), time.Now()
	if err := pause(ctx, o.length); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	share := (processorTime(s.pid) - used).Seconds() / took
	t.row(name, fmt.Sprintf("%.0f", float64(s.Written()-bytes)/took), fmt.Sprintf("%.1f%%", 100*share))
	return nil
}

func newSharesTable(title string) *table {
	return newTable(os.Stdout, title, "bytes/s", "memtop's share of a core")
}

// role is this runner, started as another process of a measurement.
type role struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// start starts a role and waits for its first line.
func start(ctx context.Context, args ...string) (*role, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &role{command: exec.CommandContext(ctx, own, args...)}
	r.command.Stderr = os.Stderr
	out, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if r.in, err = r.command.StdinPipe(); err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	if err := r.command.Start(); err != nil {
		return nil, err
	}
	if _, err := r.out.ReadString('\n'); err != nil {
		r.end()
		return nil, fmt.Errorf("%s does not begin: %w", strings.Join(args, " "), err)
	}
	return r, nil
}

// end ends the role.
func (r *role) end() {
	_ = r.command.Process.Kill() // it may have ended by itself
	_ = r.command.Wait()         // it was killed
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// processorTime returns how long a process, without its children, has run on all
// cores. It reads the process's own clock, as clock_getcpuclockid(3) numbers it.
func processorTime(pid int) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|2), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// memoryOf returns the resident memory of a process, now and at most, in bytes.
func memoryOf(pid int) (resident, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		// A field that is another one leaves its number as it is.
		_, _ = fmt.Sscanf(line, "VmRSS: %d kB", &resident)
		_, _ = fmt.Sscanf(line, "VmHWM: %d kB", &peak)
	}
	return resident << 10, peak << 10, err
}

func median[T cmp.Ordered](list []T) T {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// each returns one measurement of each sample.
func each[S, T any](samples []S, of func(S) T) []T {
	values := make([]T, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return values
}
