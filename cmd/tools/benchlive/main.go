// Command benchlive measures what memtop promises of a live screen, with the
// real program in a pseudo-terminal: `make bench-live`.
//
// It lets memtop attach to its own demo and counts, page by page, the bytes that
// go to the terminal and the processor time that memtop itself takes, following
// and frozen. Then it is a program of its own with a probe, whose allocations it
// awaits on the screen, and follows made programs, one of
// them with thousands of steps a second, which -steps does alone. With -ranks it measures a screen of a job of as many programs:
// `make bench-ranks`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
)

type options struct {
	memtop  string
	seconds int
	samples int
	sizes   []size
	pages   string
	ranks   int // of a job, to be followed instead of the demo
	rank    int // which of them this process is, -1 for none
	steps   bool
	stepper string // the socket of the made program that this process is, "" for none
	pace    pace   // of that program
}

type size struct{ w, h int }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse()
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchlive:", err)
		os.Exit(1)
	}
}

func parse() (options, error) {
	var o options
	var sizes string
	flag.StringVar(&o.memtop, "memtop", "bin/memtop", "the program to measure")
	flag.IntVar(&o.seconds, "seconds", 10, "how long each page is measured")
	flag.IntVar(&o.samples, "samples", 60, "how many allocations are awaited on the screen")
	flag.StringVar(&sizes, "sizes", "80x24,120x40", "sizes of the screen")
	flag.StringVar(&o.pages, "pages", "12345678", "pages to measure, by number")
	flag.IntVar(&o.ranks, "ranks", 0, "measure a screen of a job of so many ranks instead")
	flag.IntVar(&o.rank, "rank", -1, "be this rank of the job; benchlive starts its own")
	flag.BoolVar(&o.steps, "steps", false, "measure a screen of made programs that make steps instead")
	flag.StringVar(&o.stepper, "stepper", "", "be such a program, with this socket; benchlive starts its own")
	flag.IntVar(&o.pace.rate, "rate", 9, "the steps that it makes a second")
	flag.IntVar(&o.pace.blocks, "blocks", 200, "the blocks that each of them takes")
	flag.Parse()
	for text := range strings.SplitSeq(sizes, ",") {
		var s size
		if _, err := fmt.Sscanf(text, "%dx%d", &s.w, &s.h); err != nil {
			return o, fmt.Errorf("%q is not a size of a screen", text)
		}
		o.sizes = append(o.sizes, s)
	}
	if o.seconds < 1 || o.samples < 0 {
		return o, errors.New("it must run for at least a second")
	}
	return o, nil
}

func run(ctx context.Context, o options) error {
	switch {
	case o.rank >= 0:
		return beRank(ctx, o.rank, o.ranks)
	case o.ranks > 0:
		return ranks(ctx, o)
	case o.stepper != "":
		return o.pace.be(ctx, o.stepper)
	case o.steps:
		return steps(ctx, o)
	}
	for _, s := range o.sizes {
		if err := demo(ctx, o, s); err != nil {
			return fmt.Errorf("demo at %d×%d: %w", s.w, s.h, err)
		}
	}
	if o.samples == 0 {
		return nil
	}
	return errors.Join(latency(ctx, o), steps(ctx, o))
}

// demo measures every page of the demo on a screen of one size.
func demo(ctx context.Context, o options, s size) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(20*o.seconds+60)*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, o.memtop, "demo")
	t, err := terminal.Start(command, s.w, s.h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave(ctx, t)) }()
	if err := t.Until(ctx, func(text string) bool { return stepOf(text) >= 20 }); err != nil {
		return err
	}
	fmt.Printf("demo at %d×%d            bytes/s   memtop's share of a core\n", s.w, s.h)
	for _, number := range o.pages {
		if err := one(ctx, t, command, o, string(number), "page "+string(number)); err != nil {
			return err
		}
	}
	if err := t.Press("1 "); err != nil {
		return err
	}
	if err := t.Until(ctx, func(text string) bool { return strings.Contains(text, "frozen") }); err != nil {
		return err
	}
	return one(ctx, t, command, o, "", "page 1 frozen")
}

var stepShown = regexp.MustCompile(`· step (\d+) `)

// stepOf returns the step that a screen says its program is in, 0 where it says none. A
// screen may leave steps out.
func stepOf(text string) int {
	found := stepShown.FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// one measures what is shown after some keys, once it has settled.
func one(ctx context.Context, t *terminal.Terminal, command *exec.Cmd, o options, keys, name string) error {
	if err := t.Press(keys); err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	bytes, used, began := t.Written(), processorTime(command.Process.Pid), time.Now()
	if err := pause(ctx, time.Duration(o.seconds)*time.Second); err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	share := (processorTime(command.Process.Pid) - used).Seconds() / took
	fmt.Printf("  %-20s %8.0f   %5.1f%%\n", name, float64(t.Written()-bytes)/took, 100*share)
	return nil
}

// leave quits the program that runs in a terminal.
func leave(ctx context.Context, t *terminal.Terminal) error {
	err := t.Press("q")
	_, _, waited := t.Wait(ctx)
	return errors.Join(err, waited)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// processorTime returns how long a process has run on any core. Its children
// that still run are not counted.
func processorTime(pid int) time.Duration {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick
}
