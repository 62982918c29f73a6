// Command mutate asks whether the tests notice: it changes one line of the product, runs the tests that could fail by
// it, and says whether one did. The lines are drawn by a seed, each line with the same chance. It works in a copy of
// the last commit, so the tree it is called from is left as it is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	seed := flag.Uint64("seed", 1, "of the drawn lines")
	count := flag.Int("count", 30, "how many mutations that compile")
	python := flag.String("python", "python3", "a Python with PyTorch and pytest, for lines of the agent")
	within := flag.Duration("within", 10*time.Minute, "how long the tests of one mutation may take; longer is a failure that the tests notice")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *seed, *count, trial{python: *python, within: *within}); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run draws mutations until count of them compiled, and prints a line for each and how many died.
func run(ctx context.Context, seed uint64, count int, t trial) error {
	copied, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	if err := command(ctx, ".", "git", "worktree", "add", "--detach", copied, "HEAD").Run(); err != nil {
		return fmt.Errorf("copying the last commit: %w", err)
	}
	// The context may have ended: the copy goes in any case.
	defer command(context.Background(), ".", "git", "worktree", "remove", "--force", copied).Run() //nolint:errcheck
	t.tree = copied
	lines, err := mutable(copied)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	made, died := 0, 0
	for _, l := range lines {
		if made == count || ctx.Err() != nil {
			break
		}
		m := l.mutations[random.IntN(len(l.mutations))]
		result, err := t.try(ctx, m)
		if errors.Is(err, errDoesNotCompile) {
			continue
		} else if err != nil {
			return err
		}
		made++
		if result != survived {
			died++
		}
		fmt.Printf("%-8s %s:%d  %s  (%s)\n", strings.Fields(result)[0], m.file, m.line, m.what, result)
	}
	fmt.Printf("seed %d: %d of %d died\n", seed, died, made)
	return ctx.Err()
}

// command returns a command in a folder.
func command(ctx context.Context, folder, name string, arguments ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir = folder
	c.WaitDelay = time.Second
	return c
}

// mutable returns the lines of the product that can be changed, with their mutations.
func mutable(tree string) ([]line, error) {
	listed, err := command(context.Background(), tree, "git", "ls-files", "*.go", "probe/python/memtop/*.py").Output()
	if err != nil {
		return nil, err
	}
	var lines []line
	for _, file := range strings.Fields(string(listed)) {
		if !product(file) {
			continue
		}
		source, err := os.ReadFile(filepath.Join(tree, file))
		if err != nil {
			return nil, err
		}
		found, err := inFile(file, source)
		if err != nil {
			return nil, err
		}
		lines = append(lines, found...)
	}
	return lines, nil
}

// product reports whether users run a file.
func product(file string) bool {
	in := func(folder string) bool { return strings.Contains("/"+file, folder) }
	return !strings.HasSuffix(file, "_test.go") && !in("generated") && !in("/cmd/tools/") && !in("/cmd/testing/") &&
		!in("/examples/") && !in("/docs/") && !in("/testdata/")
}
