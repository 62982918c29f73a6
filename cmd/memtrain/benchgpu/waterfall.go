package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
)

// live is what is used of `memtop attach --once --json`.
type live struct {
	Waterfall []struct {
		Name  string `json:"name"`
		Bytes int64  `json:"bytes"`
	} `json:"waterfall"`
	Gauges *struct {
		Used int64 `json:"device_used_bytes"`
	} `json:"gauges"`
}

// waterfall looks at a training run with memtop and prints its sum beside what
// the driver says is used.
func (c *checklist) waterfall(ctx context.Context) error {
	run := exec.CommandContext(ctx, filepath.Join(c.bin, "memtrain"), "--device", "cuda:0", "--steps", "0", "--json")
	progress, err := run.StdoutPipe()
	if err != nil {
		return err
	}
	if err := run.Start(); err != nil {
		return err
	}
	defer func() {
		_ = run.Process.Kill()
		_ = run.Wait()
	}()
	// Its first line is a step: from then on there is something to see.
	if _, err := progress.Read(make([]byte, 1)); err != nil {
		return fmt.Errorf("memtrain took no step: %w", err)
	}
	out, err := output(exec.CommandContext(ctx, filepath.Join(c.bin, "memtop"), "attach", strconv.Itoa(run.Process.Pid), "--once", "--json"))
	if err != nil {
		return err
	}
	var l live
	if err := json.Unmarshal(out, &l); err != nil {
		return err
	}
	sum := int64(0)
	fmt.Print("| memory | MiB |\n|---|---|\n")
	for _, row := range l.Waterfall {
		sum += row.Bytes
		fmt.Printf("| %s | %.1f |\n", row.Name, float64(row.Bytes)/(1<<20))
	}
	said := "the driver says nothing, and `memtop attach` why"
	if l.Gauges != nil {
		said = fmt.Sprintf("the driver says %.1f MiB are used", float64(l.Gauges.Used)/(1<<20))
	}
	fmt.Printf("\nThe rows add up to %.1f MiB; %s.\n", float64(sum)/(1<<20), said)
	return nil
}
