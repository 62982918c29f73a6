// Command benchparallel measures training in two processes of one core each beside one
// process on two cores: the time of a step, and how much of the communication goes on
// beside other work. `make bench-parallel` runs it. All ways of running train in turns, so
// that what else the machine does falls on all of them.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/snapshots/quantity"
)

// model is what is trained.
const model = "--layers 6 --dim 256 --heads 4 --seq 128 --batch 16"

// ways are the ways to run it.
var ways = []struct{ name, command string }{
	{"one process", "memtrain"},
	{"two", "mpirun --bind-to core -n 2 memtrain"},
	{"… that divide the optimizer's state", "mpirun --bind-to core -n 2 memtrain --shard optimizer"},
	{"… and gradients", "mpirun --bind-to core -n 2 memtrain --shard gradients"},
	{"… and parameters", "mpirun --bind-to core -n 2 memtrain --shard parameters"},
}

// settling is how many steps are not counted.
const settling = 3

// step is what memtrain prints of one.
type step struct {
	Number       int64   `json:"step"`
	Loss         float64 `json:"loss"`
	Nanoseconds  int64   `json:"step_time_ns"`
	Peak         int64   `json:"peak_allocated_bytes"`
	Communicated int64   `json:"communication_ns"`
	Waited       int64   `json:"communication_waited_ns"`
}

func main() {
	memtrain := flag.String("memtrain", "bin/memtrain", "the program")
	rounds := flag.Int("rounds", 5, "how often each way is run")
	steps := flag.Int("steps", 10, "steps of a run that are counted")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, *memtrain, *rounds, *steps); err != nil {
		fmt.Fprintln(os.Stderr, "benchparallel:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, memtrain string, rounds, steps int) error {
	all := make([][]step, len(ways))
	for range rounds {
		for i, way := range ways {
			list, err := run(ctx, strings.Replace(way.command, "memtrain", memtrain, 1), steps)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			all[i] = append(all[i], list...)
		}
	}
	fmt.Printf("medians of %d × %d steps of memtrain %s\n\n", rounds, steps, model)
	fmt.Println("| | step, ms | communication, ms | of it overlapped | peak of a process | last loss |")
	fmt.Println("|---|---:|---:|---:|---:|---:|")
	for i, way := range ways {
		fmt.Println(row(way.name, all[i]))
	}
	return nil
}

// row is what is said of all steps of a way.
func row(name string, list []step) string {
	last := list[len(list)-1]
	took := median(list, func(s step) float64 { return float64(s.Nanoseconds) })
	communicated := median(list, func(s step) float64 { return float64(s.Communicated) })
	communication, overlapped := "", ""
	if communicated > 0 {
		share := median(list, func(s step) float64 { return max(0, 1-float64(s.Waited)/float64(s.Communicated)) })
		communication, overlapped = milliseconds(communicated), fmt.Sprintf("%.0f %%", 100*share)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %.4f |", name, milliseconds(took), communication, overlapped, quantity.Bytes(last.Peak), last.Loss)
}

func milliseconds(ns float64) string { return fmt.Sprintf("%.1f", ns/float64(time.Millisecond)) }

func median(list []step, value func(step) float64) float64 {
	var values []float64
	for _, s := range list {
		values = append(values, value(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// run trains once and returns the steps that count.
func run(ctx context.Context, command string, steps int) ([]step, error) {
	words := strings.Fields(fmt.Sprintf("%s --device cpu:0 --probe off --json --steps %d %s", command, settling+steps, model))
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var list []step
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var s step
		if err := d.Decode(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if len(list) != settling+steps {
		return nil, fmt.Errorf("it took %d steps of %d", len(list), settling+steps)
	}
	return list[settling:], nil
}
