// Command benchopen measures what memtop promises about large files, side by
// side with CPython's pickle.load, in one run: `make bench-open`.
//
// It grows a real snapshot to a large one, and then lets Python load it, memtop
// report it, and memtop open it in a pseudo-terminal, in turn, several times,
// so that a busy machine slows all of them. Ratios are of medians.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

type options struct {
	memtop string
	copies []int
	runs   int
	shared string
	keep   string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o, err := parse()
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchopen:", err)
		os.Exit(1)
	}
}

func parse() (options, error) {
	var o options
	var copies string
	flag.StringVar(&o.memtop, "memtop", "bin/memtop", "the program to measure")
	flag.StringVar(&copies, "copies", "64,256", "how many copies of the snapshot a file has")
	flag.IntVar(&o.runs, "runs", 5, "how often everything is run")
	flag.StringVar(&o.shared, "shared", "../shared", "folder of the real snapshots and of grow_snapshot.py")
	flag.StringVar(&o.keep, "keep", "", "folder to keep the grown files in, and to find them again")
	flag.Parse()
	for text := range strings.SplitSeq(copies, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return o, fmt.Errorf("%q is not a number of copies", text)
		}
		o.copies = append(o.copies, n)
	}
	if o.runs < 1 {
		return o, errors.New("it must run at least once")
	}
	return o, nil
}

// errSkip says that this machine lacks something that is measured.
var errSkip = errors.New("skipped")

func run(ctx context.Context, o options) error {
	folder := o.keep
	if folder == "" {
		var err error
		if folder, err = os.MkdirTemp("", "memtop-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(folder)
	}
	for _, n := range o.copies {
		path, err := grow(ctx, o, folder, n)
		if errors.Is(err, errSkip) {
			fmt.Println(err)
			return nil
		}
		if err != nil {
			return err
		}
		if err := measure(ctx, o, path, n); err != nil {
			return err
		}
		if o.keep == "" {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// grow makes a file of n copies of a real snapshot.
func grow(ctx context.Context, o options, folder string, n int) (string, error) {
	path := filepath.Join(folder, fmt.Sprintf("training_medium_512.%d.pickle", n))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	snapshot := filepath.Join(o.shared, "snapshots", "training_medium_512.torch2.10.pickle")
	tool := filepath.Join(o.shared, "tools", "grow_snapshot.py")
	for _, needed := range []string{snapshot, tool} {
		if _, err := os.Stat(needed); err != nil {
			return "", fmt.Errorf("%w: %s is not here", errSkip, needed)
		}
	}
	if _, err := exec.LookPath("python3"); err != nil {
		return "", fmt.Errorf("%w: there is no python3 to compare with", errSkip)
	}
	fmt.Printf("growing %d copies\n", n)
	command := exec.CommandContext(ctx, "python3", tool, snapshot, path, strconv.Itoa(n))
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("growing the snapshot: %w", err)
	}
	return path, nil
}
