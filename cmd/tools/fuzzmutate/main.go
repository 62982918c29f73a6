// Command fuzzmutate opens thousands of damaged and hostile files with the real
// program, in every way it has: `make fuzz-mutate`.
//
// Each file of package mutate goes through report, check, diff, every format of
// export, and open in a pseudo-terminal. A run fails when it crashes, hangs,
// takes more memory than it may, leaves with an exit code that is not for files,
// or writes what would steer a terminal. What failed is kept, with the command
// that shows it again. The same seed gives the same files.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"
)

type options struct {
	memtop  string
	keep    string
	files   uint64
	seed    uint64
	from    uint64
	only    int64
	make    string
	limit   time.Duration
	workers int
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := run(ctx, parse())
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzzmutate:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

func parse() options {
	var o options
	flag.StringVar(&o.memtop, "memtop", "bin/memtop", "the program to try")
	flag.StringVar(&o.keep, "keep", "bin/fuzz-mutate", "the folder for files that failed")
	flag.Uint64Var(&o.files, "files", 20_000, "how many files")
	flag.Uint64Var(&o.seed, "seed", 1, "what the files follow from")
	flag.Uint64Var(&o.from, "from", 0, "the number of the first file")
	flag.Int64Var(&o.only, "only", -1, "the number of the only file")
	flag.StringVar(&o.make, "make", "", "only make the file -from, in this folder, which must not be there yet")
	flag.DurationVar(&o.limit, "for", 0, "stop after this time, 0 for all files")
	flag.IntVar(&o.workers, "workers", 3*runtime.NumCPU(), "how many files at a time; a screen mostly waits")
	flag.Parse()
	if o.only >= 0 {
		o.from, o.files = uint64(o.only), 1
	}
	return o
}

// run tries the files and prints what came of it. It reports whether anything
// failed.
func run(ctx context.Context, o options) (failed bool, err error) {
	if o.make != "" {
		return false, makeSample(o.seed, o.from, o.make)
	}
	folder, err := os.MkdirTemp("", "fuzzmutate-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	t, err := newTrial(ctx, o, folder)
	if err != nil {
		return false, err
	}
	t.all(ctx)
	t.tally.print(os.Stdout)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return t.tally.failures > 0, nil
}
