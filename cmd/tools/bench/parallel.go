package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/memtop/memtop/snapshots/quantity"
)

// trained is the model that parallel trains.
const trained = "--layers 6 --dim 256 --heads 4 --seq 128 --batch 16"

// ways are the ways to train it.
var ways = []struct{ name, command string }{
	{"one process", "memtrain"},
	{"two", "mpirun --bind-to core -n 2 memtrain"},
	{"… that divide the optimizer's state", "mpirun --bind-to core -n 2 memtrain --shard optimizer"},
	{"… and gradients", "mpirun --bind-to core -n 2 memtrain --shard gradients"},
	{"… and parameters", "mpirun --bind-to core -n 2 memtrain --shard parameters"},
}

// settling is how many steps are not counted.
const settling = 3

// printed is a step as memtrain prints it.
type printed struct {
	Loss         float64       `json:"loss"`
	Took         time.Duration `json:"step_time_ns"`
	Peak         int64         `json:"peak_allocated_bytes"`
	Communicated time.Duration `json:"communication_ns"`
	Waited       time.Duration `json:"communication_waited_ns"`
}

// parallel compares training in two processes of one core each with one process
// on two cores: the time of a step, and how much of the communication runs beside
// other work.
func parallel(ctx context.Context, o *options) error {
	all := make([][]printed, len(ways))
	for range o.runs {
		for i, way := range ways {
			list, err := trainOnce(ctx, strings.Replace(way.command, "memtrain", o.memtrain, 1), o.steps)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			all[i] = append(all[i], list...)
		}
	}
	fmt.Printf("medians of %d × %d steps of memtrain %s\n", o.runs, o.steps, trained)
	t := newTable(os.Stdout, "", "a step", "communication", "of it overlapped", "peak of a process", "last loss")
	for i, way := range ways {
		last := all[i][len(all[i])-1]
		communication, overlapped := "", ""
		if communicated := median(each(all[i], func(s printed) time.Duration { return s.Communicated })); communicated > 0 {
			share := median(each(all[i], func(s printed) float64 { return max(0, 1-float64(s.Waited)/float64(s.Communicated)) }))
			communication, overlapped = milliseconds(communicated), fmt.Sprintf("%.0f %%", 100*share)
		}
		took := median(each(all[i], func(s printed) time.Duration { return s.Took }))
		t.row(way.name, milliseconds(took), communication, overlapped, quantity.Bytes(last.Peak), fmt.Sprintf("%.4f", last.Loss))
	}
	return nil
}

// trainOnce returns the counted steps of a run.
func trainOnce(ctx context.Context, command string, steps int) ([]printed, error) {
	words := strings.Fields(fmt.Sprintf("%s --device cpu:0 --probe off --json --steps %d %s", command, settling+steps, trained))
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var list []printed
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var s printed
		if err := d.Decode(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	if len(list) != settling+steps || steps == 0 {
		return nil, fmt.Errorf("it took %d steps of %d", len(list), settling+steps)
	}
	return list[settling:], nil
}
