// Command differential runs random programs of requests through PyTorch's own
// allocator on the imitated GPU, and through engine/alloc, and compares what they
// do, event by event. It prints a table by version and settings, and the smallest
// program for each difference.
//
// Where PyTorch goes through a hash table by address, the order of what one call completes or
// gives back is not defined: such programs are counted as reordered.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

// settings are what the allocators are compared under.
var settings = []string{
	"",
	"expandable_segments:True",
	"garbage_collection_threshold:0.6",
	"roundup_power2_divisions:4",
	"roundup_power2_divisions:[1:8,4:1,16:4,>:2]",
	"max_split_size_mb:32",
	"max_split_size_mb:40,max_non_split_rounding_mb:30",
	"expandable_segments:True,roundup_power2_divisions:8",
	"expandable_segments:True,garbage_collection_threshold:0.5,max_split_size_mb:64",
	"max_split_size_mb:24,garbage_collection_threshold:0.7,roundup_power2_divisions:2",
}

// round is the comparison with one PyTorch under one settings.
type round struct {
	torch            *torch
	settings         string
	programs, events int
	python, folder   string
	stale            int // programs that differ only after others in one process
	broken           int // programs in which an assertion of PyTorch's failed, or it refused a pool; events are compared up to there
	reordered        int // programs whose events are equal but for the order of what one call completes or gives back
	different        []string
}

func main() {
	pythons := flag.String("python", "python3", "Pythons with a PyTorch of CUDA's, separated by commas")
	count := flag.Uint64("programs", 100, "how many programs for each version and settings")
	seed := flag.Uint64("seed", 1, "of the random programs")
	first := flag.Uint64("first", 0, "the number of the first program")
	only := flag.Int("settings", -1, "the number of the only settings to run")
	most := flag.Int("most", 1, "how many differences to show for each version and settings")
	flag.Parse()
	if err := run(strings.Split(*pythons, ","), *seed, *first, *count, *only, *most); err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		os.Exit(1)
	}
}

var errDifferent = errors.New("the allocators differ")

func run(pythons []string, seed, first, count uint64, only, most int) error {
	folder, err := os.MkdirTemp("", "differential")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) // only links and a library
	if err := imitation.Install(folder); err != nil {
		return err
	}
	equal := true
	for _, python := range pythons {
		for i, s := range settings {
			if only >= 0 && only != i {
				continue
			}
			r := &round{settings: s, python: python, folder: folder}
			if r.torch, err = start(python, folder, s); err != nil {
				return err
			}
			if err := r.run(seed, first, count, most); err != nil {
				return err
			}
			if err := r.torch.close(); err != nil {
				return err
			}
			fmt.Printf("%-14s %-82s %5d programs %8d events %4d reordered %3d after others %3d broken %3d different\n",
				r.torch.version, r.settings, r.programs, r.events, r.reordered, r.stale, r.broken, len(r.different))
			equal = equal && len(r.different) == 0
		}
	}
	if !equal {
		return errDifferent
	}
	return nil
}

func (r *round) run(seed, first, count uint64, most int) error {
	for number := first; number < first+count; number++ {
		p := random(seed, number)
		how, err := r.try(p)
		if err != nil {
			return err
		}
		r.programs++
		if how == "" {
			continue
		}
		if how, err = r.alone(p); err != nil {
			return err
		}
		if how == "" {
			r.stale++
			continue
		}
		r.different = append(r.different, how)
		if len(r.different) > most {
			continue
		}
		if p, how, err = r.shrink(p, how); err != nil {
			return err
		}
		fmt.Printf("program %d of seed %d, PyTorch %s, %q\n%s%s\n", number, seed, r.torch.version, r.settings, p, how)
	}
	return nil
}

// alone runs a program in a new process. PyTorch keeps which streams used a block in a
// capture by the address of its own record of the block, also when that record is
// gone. So a program may see notes of one before it.
func (r *round) alone(p *program) (string, error) {
	if err := r.restart(); err != nil {
		return "", err
	}
	return r.try(p)
}

func (r *round) restart() (err error) {
	if err := r.torch.close(); err != nil {
		return err
	}
	r.torch, err = start(r.python, r.folder, r.settings)
	return err
}

// try runs a program on both sides, and returns the difference.
func (r *round) try(p *program) (string, error) {
	a, err := r.torch.run(p)
	if err != nil {
		return "", err
	}
	c, err := compare(r.torch, r.settings, p, a)
	if err != nil {
		return "", err
	}
	r.events += len(a.events)
	if a.broken {
		r.broken++
		if err := r.restart(); err != nil {
			return "", err
		}
	}
	how := c.difference()
	if how == "" {
		return "", nil
	}
	if how = c.sorted().difference(); how == "" {
		r.reordered++
	}
	return how, nil
}
