// Package prebuilt holds libraries in C that programs load. They are built when the
// project changes, with the version of zig that their manifest names, because users
// have no compiler. `make imitation` builds them from folder library of their
// packages into folder built, for Linux on amd64 and arm64. A test compares the
// sources with the manifest, and `make imitation-check` builds the libraries again
// and compares them byte for byte.
package prebuilt

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Library is a library, for every architecture.
type Library struct {
	Name  string // in its own header
	Built fs.FS  // with folder built
}

// Manifest is the content of built/MANIFEST, by the names of sources and
// libraries.
type Manifest struct {
	Compiler string            // the version of zig
	Sums     map[string]string // SHA-256, in hexadecimal
}

// Manifest reads the manifest of the libraries in this program.
func (l Library) Manifest() (Manifest, error) {
	m := Manifest{Sums: make(map[string]string)}
	text, err := fs.ReadFile(l.Built, "built/MANIFEST")
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if compiler, is := strings.CutPrefix(lines.Text(), "compiler zig "); is {
			m.Compiler = compiler
		} else if sum, name, is := strings.Cut(lines.Text(), "  "); is {
			m.Sums[name] = sum
		}
	}
	return m, err
}

// largest is the most bytes that are unpacked.
const largest = 16 << 20

// For returns the library for Linux on an architecture, as GOARCH names it.
func (l Library) For(architecture string) ([]byte, error) {
	name := "linux-" + architecture
	packed, err := fs.ReadFile(l.Built, "built/"+name+".zst")
	if err != nil {
		return nil, fmt.Errorf("there is no %s for %s", l.Name, name)
	}
	manifest, err := l.Manifest()
	if err != nil {
		return nil, err
	}
	stream, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	library, err := io.ReadAll(io.LimitReader(stream, largest))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(library); hex.EncodeToString(sum[:]) != manifest.Sums[name] {
		return nil, fmt.Errorf("the %s for %s is not the one of its manifest", l.Name, name)
	}
	return library, nil
}

// Prepend returns an environment in which a variable with a list of paths begins with
// one more. All other variables stay the same.
func Prepend(environ []string, variable, path string) []string {
	var changed []string
	for _, v := range environ {
		name, before, _ := strings.Cut(v, "=")
		if name != variable {
			changed = append(changed, v)
		} else if before != "" {
			path += ":" + before
		}
	}
	return append(changed, variable+"="+path)
}
