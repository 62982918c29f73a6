package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/memtop/memtop/engine/device/cuda/kernels/source"
)

// generator makes modules. Safe for concurrent use.
type generator struct {
	compiler  *compiler
	assembler *assembler // nil leaves machine code out
	out       string
	before    string // the MANIFEST of what is there
}

// generate writes the archives of all modules, and their MANIFEST.
func generate(ctx context.Context, clang, ptxas, out string) error {
	compiler, err := newCompiler(ctx, clang)
	if err != nil {
		return err
	}
	defer compiler.close()
	assembler, err := newAssembler(ctx, ptxas)
	if err != nil {
		return err
	}
	manifest := filepath.Join(out, "MANIFEST")
	before, _ := os.ReadFile(manifest) // without one everything is made
	g := &generator{compiler, assembler, out, string(before)}
	lines, err := g.all(ctx)
	if err != nil {
		return err
	}
	return write(manifest, []byte(compiler.version+assembler.line()+compiler.sources+lines))
}

// all makes the modules at the same time, each with as many processes as there
// are processors, and returns their lines of MANIFEST.
func (g *generator) all(ctx context.Context) (string, error) {
	lines, errs := make([]string, len(source.Modules)), make([]error, len(source.Modules))
	var group sync.WaitGroup
	for i, m := range source.Modules {
		group.Go(func() { lines[i], errs[i] = g.module(ctx, m) })
	}
	group.Wait()
	return strings.Join(lines, ""), errors.Join(errs...)
}

// module makes a module's archive, unless it is there, and returns its lines of
// MANIFEST.
func (g *generator) module(ctx context.Context, m source.Module) (string, error) {
	ptx, err := g.compiler.compile(ctx, m)
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Name, err)
	}
	name := filepath.Join(g.out, m.Name+".tar.zst")
	ofPTX := line(m.Name+".ptx", ptx)
	lines := func(archive []byte) string {
		return ofPTX + line(fmt.Sprintf("%s.tar.zst with %v", m.Name, g.assembler.machines()), archive)
	}
	if archive, err := os.ReadFile(name); err == nil && strings.Contains(g.before, g.assembler.line()) && strings.Contains(g.before, lines(archive)) {
		return lines(archive), nil
	}
	images, err := g.assembler.assemble(ctx, ptx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Name, err)
	}
	archive, err := pack(append(images, file{m.Name + ".ptx", ptx}))
	if err != nil {
		return "", err
	}
	return lines(archive), write(name, archive)
}

// line is a line of MANIFEST.
func line(name string, content []byte) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name)
}

// write writes a file that every user of the project may read, unless its content
// is the same already.
func write(name string, content []byte) error {
	if before, err := os.ReadFile(name); err == nil && bytes.Equal(before, content) {
		return nil
	}
	return os.WriteFile(name, content, 0o644) //nolint:gosec // as the function says
}
