// Command librarygen builds a library that programs load, for every architecture. It
// writes the archives and the manifest that the library's package embeds. MEMTOP_ZIG
// names the compiler, which comes with the C library of each target.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// targets are the architectures as Go and as zig names them. Every system on
// which PyTorch runs has this version of the C library or a later one.
var targets = map[string]string{"amd64": "x86_64-linux-gnu.2.17", "arm64": "aarch64-linux-gnu.2.17"}

// flags make a library without a trace of the place where it was built. Its
// symbols have no versions, so it satisfies references to any version.
var flags = []string{
	"-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-s", "-Wall", "-Wextra", "-Werror",
	"-Wl,--build-id=none",
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("librarygen: ")
	name := flag.String("name", "", "of the library, in its header")
	flag.Parse()
	flags = slices.Insert(flags, len(flags)-1, "-Wl,-soname,"+*name)
	compiler := os.Getenv("MEMTOP_ZIG")
	if compiler == "" {
		compiler = "zig"
	}
	if err := generate(compiler, "library", "built"); err != nil {
		log.Fatal(err)
	}
}

// generate builds the sources of a folder and writes the results into another
// folder.
func generate(compiler, sources, built string) error {
	version, err := exec.Command(compiler, "version").Output() //nolint:noctx // a build
	if err != nil {
		return fmt.Errorf("asking %s for its version: %w", compiler, err)
	}
	var manifest bytes.Buffer
	fmt.Fprintf(&manifest, "compiler zig %sflags %s\n", version, strings.Join(flags, " "))
	files, err := filepath.Glob(filepath.Join(sources, "*.[ch]"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		manifest.WriteString(line(text, filepath.ToSlash(file)))
	}
	for _, architecture := range slices.Sorted(maps.Keys(targets)) {
		library, err := build(compiler, sources, targets[architecture])
		if err != nil {
			return err
		}
		name := "linux-" + architecture
		manifest.WriteString(line(library, name))
		packed, err := pack(library)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(built, name+".zst"), packed, 0o644); err != nil { //nolint:gosec // it is a source of the project
			return err
		}
	}
	return os.WriteFile(filepath.Join(built, "MANIFEST"), manifest.Bytes(), 0o644) //nolint:gosec // so is this
}

func line(contents []byte, name string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256(contents), name)
}

// build returns the library for a target. The compiler runs in the sources'
// folder, so that the library contains no path.
func build(compiler, sources, target string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "librarygen-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	files, err := filepath.Glob(filepath.Join(sources, "*.c"))
	if err != nil {
		return nil, err
	}
	to := filepath.Join(folder, "library.so")
	arguments := slices.Concat([]string{"cc", "-target", target}, flags, []string{"-o", to})
	for _, file := range files {
		arguments = append(arguments, filepath.Base(file))
	}
	cmd := exec.Command(compiler, append(arguments, "-ldl", "-lpthread")...) //nolint:noctx // a build
	cmd.Dir = sources
	if printed, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s: %w\n%s", target, err, printed)
	}
	return os.ReadFile(to)
}

func pack(library []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(library); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
