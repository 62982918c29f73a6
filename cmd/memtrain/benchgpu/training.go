package main

import (
	"bytes"
	"context"
	_ "embed" // for the script
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

//go:embed torch_gpt2.py
var torchScript string

// measured is what one program says of its steps.
type measured struct {
	Torch         string `json:"torch"`
	MedianNS      int64  `json:"median_ns"`
	Tokens        int    `json:"tokens"`
	PeakAllocated int64  `json:"peak_allocated_bytes"`
	PeakReserved  int64  `json:"peak_reserved_bytes"`
}

// engine is what benchengine says.
type engine struct {
	Device   string `json:"device"`
	Products []struct {
		N      int     `json:"n"`
		DType  string  `json:"dtype"`
		GFLOPS float64 `json:"gflops"`
	} `json:"products"`
	LaunchNS float64   `json:"launch_ns"`
	Training *measured `json:"training"`
}

func (c *checklist) engine(ctx context.Context, args ...string) (engine, error) {
	var e engine
	out, err := output(exec.CommandContext(ctx, "go", append([]string{"run", "./cmd/memtrain/benchengine", "-device", "cuda:0", "-json"}, args...)...))
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal(out, &e)
}

// output runs a program whose words, should it fail, are part of the error.
func output(p *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	p.Stderr = &stderr
	out, err := p.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %s", p.Path, err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// products prints the rates of our own products beside the library's.
func (c *checklist) products(ctx context.Context) error {
	with, err := c.engine(ctx, "-products", "-library")
	if err != nil {
		return err
	}
	own, err := c.engine(ctx, "-products", "-own-products")
	if err != nil {
		return err
	}
	fmt.Printf("%s\n\nOur kernels: %s\n\n| product | TFLOP/s | our kernels |\n|---|---|---|\n", with.Device, own.Device)
	for i, p := range with.Products {
		fmt.Printf("| %s %d³ | %.1f | %.1f |\n", p.DType, p.N, p.GFLOPS/1e3, own.Products[i].GFLOPS/1e3)
	}
	fmt.Printf("\nQueueing a small kernel takes the host %.0f ns.\n", with.LaunchNS)
	return nil
}

// training prints our steps beside PyTorch's in the same configuration.
func (c *checklist) training(ctx context.Context) error {
	fmt.Println("| GPT-2 124M, 1,024 tokens | ours tokens/s | peak MiB | PyTorch eager tokens/s | peak MiB | compiled tokens/s | peak MiB |\n|---|---|---|---|---|---|---|")
	for _, config := range [][2]string{{"off", "none"}, {"bf16", "none"}, {"bf16", "block"}} {
		amp, checkpoint := config[0], config[1]
		e, err := c.engine(ctx, "-length", "1024", "-batch", strconv.Itoa(c.batch), "-steps", strconv.Itoa(c.steps), "-amp", amp, "-checkpoint", checkpoint)
		if err != nil {
			return err
		}
		row := fmt.Sprintf("| batch %d, amp %s, checkpoint %s |", c.batch, amp, checkpoint) + e.Training.cells()
		for _, compile := range []string{"", "--compile"} {
			m, err := c.torch(ctx, amp, checkpoint, compile)
			if err != nil {
				fmt.Fprintln(os.Stderr, "benchgpu:", err)
				row += " | |"
				continue
			}
			row += m.cells()
		}
		fmt.Println(row)
	}
	return nil
}

// cells are the rate and the peak as cells of a table.
func (m *measured) cells() string {
	return fmt.Sprintf(" %.0f | %d |", float64(m.Tokens)/float64(m.MedianNS)*1e9, m.PeakAllocated>>20)
}

// torch runs the same steps in PyTorch.
func (c *checklist) torch(ctx context.Context, amp, checkpoint, compile string) (m measured, err error) {
	args := []string{"-", "--batch", strconv.Itoa(c.batch), "--steps", strconv.Itoa(c.steps), "--amp", amp, "--checkpoint", checkpoint}
	if compile != "" {
		args = append(args, compile)
	}
	p := exec.CommandContext(ctx, c.python, args...)
	p.Stdin = strings.NewReader(torchScript)
	out, err := output(p)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(out, &m)
}
