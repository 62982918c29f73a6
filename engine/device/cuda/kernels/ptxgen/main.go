// Command ptxgen compiles the CUDA kernels to PTX with clang 19, which needs no
// CUDA SDK for it, and writes the PTX and a manifest of its sources and compiler.
// `go generate` of package kernels runs it; equal sources and compilers give
// equal bytes.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"memtop/engine/device/cuda/kernels/source"
)

// flags compile the standard input to PTX 8.0, which every driver of CUDA 12.0
// and later accepts. Nothing is contracted: a kernel asks explicitly for a fused
// multiplication and addition.
var flags = []string{
	"-x", "cuda", "-", "-I.", "--cuda-device-only", "-nocudainc", "-nocudalib",
	"--cuda-feature=+ptx80", "-std=c++17", "-O3", "-ffp-contract=off", "-Wall", "-Wno-unused-function", "-Werror", "-S", "-o", "-",
}

func main() {
	out := flag.String("o", "ptx", "the `directory` to write the PTX and MANIFEST to")
	compiler := flag.String("clang", "clang-19", "the `command` that compiles")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := generate(ctx, *compiler, *out); err != nil {
		fmt.Fprintln(os.Stderr, "ptxgen:", err)
		stop()
		os.Exit(1)
	}
}

func generate(ctx context.Context, compiler, out string) error {
	dir, err := os.MkdirTemp("", "ptxgen")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	manifest, err := writeSources(dir)
	if err != nil {
		return err
	}
	version, err := output(ctx, dir, "", compiler, "--version")
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(version), "\n")
	manifest = fmt.Sprintf("compiler %s\nflags %s\n%s", first, strings.Join(flags, " "), manifest)
	for _, m := range source.Modules {
		ptx, err := output(ctx, dir, m.Text(), compiler, append(flags, "--cuda-gpu-arch="+m.Architecture)...)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		name := m.Name + ".ptx"
		ptx = strip(ptx)
		manifest += line("ptx/"+name, ptx)
		if err := os.WriteFile(filepath.Join(out, name), ptx, 0o644); err != nil { //nolint:gosec // for everyone who has the project
			return err
		}
	}
	return os.WriteFile(filepath.Join(out, "MANIFEST"), []byte(manifest), 0o644) //nolint:gosec // as above
}

// writeSources writes the sources to dir and returns their lines of the
// manifest.
func writeSources(dir string) (string, error) {
	names, err := fs.Glob(source.Files, "*")
	if err != nil {
		return "", err
	}
	var manifest strings.Builder
	for _, name := range names {
		text, err := source.Files.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", err
		}
		manifest.WriteString(line("source/"+name, text))
	}
	return manifest.String(), nil
}

func line(name string, text []byte) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(text), name)
}

func output(ctx context.Context, dir, input, name string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir, command.Stdin = dir, strings.NewReader(input)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, complaints.Bytes())
	}
	return text, nil
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
