// Command soak looks at running programs for a long time and measures the
// memory that memtop takes. `make soak` runs it.
//
// Three programs are looked at, each by a memtop in a pseudo-terminal: memtop's
// own demo; one that makes 50,000 events a second, with steps, layers and settings
// that change; and one that makes as many and new stacks and labels without end.
// Keys go through all pages, move the cursor back and to the end, change
// settings, freeze the screen and let it go on. It fails when a memtop ever had
// more than the limit resident, files mapped included, or when what it had still
// grew: when the median of the last third of the time, measured every second, is
// more than a twentieth above that of the middle third.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

type options struct {
	memtop string
	length time.Duration
	every  time.Duration
	limit  int64 // bytes
	only   string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.memtop, "memtop", "bin/memtop", "the program to measure")
	flag.DurationVar(&o.length, "for", 10*time.Minute, "how long")
	flag.DurationVar(&o.every, "every", time.Minute, "how often a line is printed")
	flag.Int64Var(&o.limit, "limit", 150_000_000, "bytes that memtop may have resident")
	flag.StringVar(&o.only, "only", "demo,events,names", "the programs to look at")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	folder, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watched []*watch
	defer func() {
		for _, w := range watched {
			err = errors.Join(err, w.end())
		}
	}()
	for name := range strings.SplitSeq(o.only, ",") {
		w, err := start(ctx, o, name, folder)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		watched = append(watched, w)
	}
	if err := look(ctx, o, watched); err != nil {
		return err
	}
	for _, w := range watched {
		err = errors.Join(err, w.judge(o))
	}
	return err
}

// look measures once a second and prints a line now and then.
func look(ctx context.Context, o options, watched []*watch) error {
	heading(watched)
	second := time.NewTicker(time.Second)
	defer second.Stop()
	began, printed := time.Now(), 0
	for time.Since(began) < o.length {
		select {
		case <-second.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, w := range watched {
			if err := w.second(); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
		if lines := int(time.Since(began) / o.every); lines > printed {
			printed = lines
			line(time.Duration(lines)*o.every, watched)
		}
	}
	return nil
}

func heading(watched []*watch) {
	fmt.Printf("%8s", "")
	for _, w := range watched {
		fmt.Printf("  %24s", w.name)
	}
	fmt.Printf("  %12s\n%8s", "the programs", "")
	for range watched {
		fmt.Printf("  %16s %7s", "most of the time", "ever")
	}
	fmt.Printf("  %12s\n", "themselves")
}

// line prints the most that each memtop had since the last line, and ever.
func line(at time.Duration, watched []*watch) {
	fmt.Printf("%8s", at)
	for _, w := range watched {
		fmt.Printf("  %13.1f MB %4.0f MB", megabytes(w.since), megabytes(w.peak))
		w.since = 0
	}
	resident, _, _ := memoryOf(os.Getpid())
	fmt.Printf("  %9.1f MB\n", megabytes(resident))
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }
