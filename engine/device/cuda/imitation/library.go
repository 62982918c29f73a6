package imitation

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

//go:embed built/MANIFEST built/*.zst
var built embed.FS

// Manifest is the content of built/MANIFEST, by the names of sources and
// libraries.
type Manifest struct {
	Compiler string            // the version of zig
	Sums     map[string]string // SHA-256, in hexadecimal
}

// ReadManifest reads the manifest of the libraries in this program.
func ReadManifest() (Manifest, error) {
	m := Manifest{Sums: make(map[string]string)}
	text, err := built.ReadFile("built/MANIFEST")
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

// libraryName is the name that the library has in its own header.
const libraryName = "libmemtop-imitation.so"

// largestLibrary is the most bytes that are unpacked.
const largestLibrary = 16 << 20

// Library returns the library for Linux on an architecture, as GOARCH names it.
func Library(architecture string) ([]byte, error) {
	name := "linux-" + architecture
	packed, err := built.ReadFile("built/" + name + ".zst")
	if err != nil {
		return nil, fmt.Errorf("there is no imitation of a GPU for %s", name)
	}
	manifest, err := ReadManifest()
	if err != nil {
		return nil, err
	}
	stream, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	library, err := io.ReadAll(io.LimitReader(stream, largestLibrary))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(library); hex.EncodeToString(sum[:]) != manifest.Sums[name] {
		return nil, fmt.Errorf("the imitation for %s is not the one of its manifest", name)
	}
	return library, nil
}

// links are the names under which programs look for the driver and for NVML. They
// also include the libraries of CUDA 11, 12 and 13, for a PyTorch that was
// installed without them. A PyTorch that has these libraries finds its own first,
// and calls nothing in them.
var links = strings.Fields(`libcuda.so.1 libcuda.so libnvidia-ml.so.1
	libcudart.so.11.0 libcudart.so.12 libcudart.so.13 libcublas.so.11 libcublas.so.12 libcublas.so.13
	libcublasLt.so.11 libcublasLt.so.12 libcublasLt.so.13 libcudnn.so.8 libcudnn.so.9 libnccl.so.2
	libcufft.so.10 libcufft.so.11 libcufft.so.12 libcurand.so.10 libcusolver.so.11 libcusolver.so.12
	libcusparse.so.11 libcusparse.so.12 libcusparseLt.so.0 libcupti.so.12 libcupti.so.13 libcufile.so.0
	libnvrtc.so.12 libnvrtc.so.13 libnvJitLink.so.12 libnvJitLink.so.13 libnvshmem_host.so.3 libnvToolsExt.so.1`)

// Environment returns an environment in which programs load the library that is
// installed in a folder, and also the libraries that they would load without it.
// All other variables stay the same.
func Environment(environ []string, folder string) []string {
	preload, paths := filepath.Join(folder, libraryName), folder
	var changed []string
	for _, variable := range environ {
		name, before, _ := strings.Cut(variable, "=")
		switch {
		case name == "LD_PRELOAD" && before != "":
			preload += ":" + before
		case name == "LD_LIBRARY_PATH" && before != "":
			paths += ":" + before
		case name != "LD_PRELOAD" && name != "LD_LIBRARY_PATH":
			changed = append(changed, variable)
		}
	}
	return append(changed, "LD_PRELOAD="+preload, "LD_LIBRARY_PATH="+paths)
}
