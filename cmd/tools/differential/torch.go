package main

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/snapshots/trace"
)

//go:embed process.py
var script string

// torch is a process with PyTorch on the imitated GPU.
type torch struct {
	version     string
	free, total int64 // bytes of the device
	streams     []uint64
	command     *exec.Cmd
	to          io.WriteCloser
	from        *bufio.Reader
}

// event is one of PyTorch's events.
type event struct {
	kind   trace.Kind
	addr   uint64 // of an out of memory the device's free bytes
	size   int64
	stream uint64
}

// deviceMemory is what the imitated GPU has for the process: little, so that it
// runs out often.
const deviceMemory = 768 * mebibyte

// start starts PyTorch with settings, from a folder of libraries.
func start(python, folder, settings string) (*torch, error) {
	gpu, _ := imitation.Find("t4")
	gpu.Total = gpu.Context + deviceMemory
	t := &torch{command: exec.Command(python, "-c", script)}
	t.command.Env = append(imitation.Environment(os.Environ(), folder), imitation.GPUVariable+"="+gpu.Variable(1, false),
		"PYTORCH_CUDA_ALLOC_CONF="+settings, "PYTORCH_ALLOC_CONF="+settings, "OMP_NUM_THREADS=1")
	t.command.Stderr = os.Stderr
	out, err := t.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if t.to, err = t.command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := t.command.Start(); err != nil {
		return nil, err
	}
	t.from = bufio.NewReaderSize(out, 1<<20)
	return t, t.greeting()
}

func (t *torch) greeting() error {
	lines := [3]string{}
	for i := range lines {
		line, err := t.from.ReadString('\n')
		if err != nil {
			return fmt.Errorf("PyTorch did not start: %w", errors.Join(err, t.command.Wait()))
		}
		lines[i] = strings.TrimSpace(line)
	}
	t.version = lines[0]
	_, err := fmt.Sscan(lines[1], &t.free, &t.total)
	for word := range strings.FieldsSeq(lines[2]) {
		var s uint64
		_, failed := fmt.Sscan(word, &s)
		t.streams, err = append(t.streams, s), errors.Join(err, failed)
	}
	return err
}

// answer is what PyTorch said of a program.
type answer struct {
	events []event
	pools  map[int]pool // by the program's number
	broken bool         // an assertion of PyTorch's failed after the events
}

// pool is what PyTorch made of one.
type pool struct {
	id      trace.Pool
	options alloc.PoolOptions
}

// run runs a program.
func (t *torch) run(p *program) (*answer, error) {
	if _, err := io.WriteString(t.to, p.String()+".\n"); err != nil {
		return nil, err
	}
	a := &answer{pools: make(map[int]pool)}
	for {
		line, err := t.from.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("PyTorch ended: %w", errors.Join(err, t.command.Wait()))
		}
		if a.broken = line == "!\n"; a.broken || line == ".\n" {
			return a, nil
		}
		if err := a.line(line); err != nil {
			return nil, fmt.Errorf("PyTorch said %q: %w", line, err)
		}
	}
}

func (a *answer) line(line string) error {
	var name string
	var number int
	var e event
	var p pool
	if text, ok := strings.CutPrefix(line, "pool "); ok {
		_, err := fmt.Sscan(text, &number, &p.id[0], &p.id[1], &p.options.OnOOM, &p.options.NoSplit)
		a.pools[number] = p
		return err
	}
	_, err := fmt.Sscan(line, &name, &e.addr, &e.size, &e.stream)
	e.kind = trace.KindOf(name)
	a.events = append(a.events, e)
	return err
}

func (t *torch) close() error {
	return errors.Join(t.to.Close(), t.command.Wait())
}
