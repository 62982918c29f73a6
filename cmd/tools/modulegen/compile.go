package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/memtop/memtop/engine/device/cuda/kernels/source"
)

// flags compile the standard input to PTX 8.0, which every driver of CUDA 12.0
// and later accepts. Nothing is contracted: a kernel asks explicitly for a fused
// multiplication and addition.
var flags = []string{
	"-x", "cuda", "-", "-I.", "--cuda-device-only", "-nocudainc", "-nocudalib",
	"--cuda-feature=+ptx80", "-std=c++17", "-O3", "-ffp-contract=off", "-Wall", "-Wno-unused-function", "-Werror", "-S", "-o", "-",
}

// compiler compiles sources to PTX. Safe for concurrent use.
type compiler struct {
	clang   string
	dir     string // of the sources
	version string // its lines of MANIFEST
	sources string // the sources' lines
}

// newCompiler returns a compiler. The caller closes it.
func newCompiler(ctx context.Context, clang string) (*compiler, error) {
	version, _, err := output(ctx, "", "", clang, "--version")
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(version), "\n")
	dir, err := os.MkdirTemp("", "modulegen")
	if err != nil {
		return nil, err
	}
	c := &compiler{clang: clang, dir: dir, version: fmt.Sprintf("compiler %s\nflags %s\n", first, strings.Join(flags, " "))}
	if err := c.writeSources(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *compiler) close() { _ = os.RemoveAll(c.dir) }

func (c *compiler) writeSources() error {
	return source.Each(func(name string, text []byte) error {
		c.sources += line("source/"+name, text)
		return os.WriteFile(filepath.Join(c.dir, name), text, 0o600)
	})
}

// compile returns a module's PTX.
func (c *compiler) compile(ctx context.Context, m source.Module) ([]byte, error) {
	ptx, _, err := output(ctx, c.dir, m.Text(), c.clang, append(flags[:len(flags):len(flags)], "--cuda-gpu-arch="+source.Least)...)
	return strip(ptx), err
}

// strip removes comments and empty lines, which are half of the text.
func strip(ptx []byte) []byte {
	var b bytes.Buffer
	for text := range bytes.Lines(ptx) {
		if at := bytes.Index(text, []byte("//")); at >= 0 {
			text = text[:at]
		}
		if text = bytes.TrimRight(text, " \t\n"); len(bytes.TrimSpace(text)) > 0 {
			b.Write(text)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// processes has room for one entry per processor.
var processes = make(chan struct{}, runtime.NumCPU())

// output runs a command, when there is room for it, and returns its standard
// output and standard error. The latter is part of an error, too.
func output(ctx context.Context, dir, input, name string, arguments ...string) (text, said []byte, err error) {
	processes <- struct{}{}
	defer func() { <-processes }()
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir, command.Stdin = dir, strings.NewReader(input)
	var out, complaints bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaints
	if err := command.Run(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w\n%s", name, err, complaints.Bytes())
	}
	return out.Bytes(), complaints.Bytes(), nil
}
