package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// torchPython returns an interpreter that has PyTorch, or skips the test.
func torchPython(t *testing.T) string {
	t.Helper()
	python := os.Getenv("MEMTOP_TORCH_PYTHON")
	if python == "" {
		python = "python3"
	}
	path, err := exec.LookPath(python)
	if err != nil {
		t.Skipf("no Python to be had: %v", err)
	}
	if err := exec.CommandContext(t.Context(), path, "-c", "import importlib.util as u; assert u.find_spec('torch')").Run(); err != nil {
		t.Skipf("%s has no PyTorch: set MEMTOP_TORCH_PYTHON to an interpreter that has", path)
	}
	return path
}

// lossesOf returns the losses that the example prints for a number of steps.
func lossesOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errors bytes.Buffer
	cmd.Stderr = &errors
	printed, err := cmd.Output()
	if err != nil || errors.Len() > 0 {
		t.Fatalf("%v, and on standard error:\n%s", err, errors.String())
	}
	return string(printed)
}

// TestAKeyChangesAPyTorchJobThatGoesOnUnchanged starts a job with the agent in it,
// presses C, sees the difference, and that of C on a layer, undoes it and leaves: what the job prints is what it prints
// without memtop.
func TestAKeyChangesAPyTorchJobThatGoesOnUnchanged(t *testing.T) {
	python := torchPython(t)
	liveness(t)
	t.Setenv("OMP_NUM_THREADS", "1")
	example := filepath.Join("..", "..", "examples", "train.py")
	small := []string{example, "--layers", "3", "--width", "48", "--heads", "4", "--batch", "4", "--length", "64", "--steps"}

	job := commandNamed(t, "memtop", append([]string{"run", "--", python}, append(small, "1000000")...)...)
	reader, writer, err := os.Pipe()
	fatal.If(t, err)
	defer reader.Close()
	job.Stdout = writer
	fatal.If(t, job.Start())
	writer.Close()
	t.Cleanup(func() { _ = job.Process.Kill(); _ = job.Wait() })
	lines := make(chan string, 1<<20)
	go readLines(reader, lines)
	first := <-lines

	s := openScreen(t, 80, 24, "attach", strconv.Itoa(job.Process.Pid))
	s.see("live", "ckpt off")
	s.number(`most [\d.]+ .iB, step ([\d,]+)`, 3) // some steps were looked at
	s.press("C")
	s.see("checkpoint off → all", "predicted peak -")
	s.press("y")
	s.see("ckpt all")
	s.see("checkpoint off → all · at step", "peak -")
	s.press("8")
	s.see("8 steps measured", "peak allocated")
	s.press("U")
	s.see("ckpt off")
	s.press("2")
	s.see("▸ blocks.1")
	s.press("/")
	s.press("blocks.1\rC")
	s.see("ckpt layers=blocks.1", "checkpoint off → layers=blocks.1 · at step")
	s.press("q")
	s.see("After quitting, this stays changed in process "+strconv.Itoa(job.Process.Pid), "checkpoint=layers=blocks.1 (was off)")
	s.press("u")
	s.leave(0)

	printed := []string{first}
	for range 20 { // it goes on
		printed = append(printed, <-lines)
	}
	for len(lines) > 0 {
		printed = append(printed, <-lines)
	}
	plain := lossesOf(t, exec.CommandContext(t.Context(), python, append(small, strconv.Itoa(len(printed)))...))
	if got := strings.Join(printed, ""); got != plain {
		t.Errorf("the job printed\n%.500s\nwithout memtop it prints\n%.500s", got, plain)
	}
}

// readLines sends each line with its end, and closes the channel after the last.
func readLines(from *os.File, to chan<- string) {
	defer close(to)
	for reader := bufio.NewReader(from); ; {
		line, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		to <- line
	}
}
