package callers

import (
	"embed"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"github.com/memtop/memtop/engine/device/cuda/prebuilt"
)

//go:embed built/MANIFEST built/*.zst
var built embed.FS

// Library is what programs load.
var Library = prebuilt.Library{Name: "libmemtop-callers.so", Built: built}

// loaders are the programs that load libraries for the C library that Library needs.
var loaders = map[string]string{"amd64": "/lib64/ld-linux-x86-64.so.2", "arm64": "/lib/ld-linux-aarch64.so.1"}

// Install puts the library into a subfolder of a folder, and returns that. It is named
// after the library's content, so a program finds the one that its agent knows.
func Install(folder string) (string, error) {
	manifest, err := Library.Manifest()
	if err != nil {
		return "", err
	}
	sum := manifest.Sums["linux-"+runtime.GOARCH]
	if _, err := os.Stat(loaders[runtime.GOARCH]); err != nil || runtime.GOOS != "linux" || len(sum) < 16 {
		return "", errors.New("calls of the driver can be seen on Linux with glibc, on x86-64 and arm64; here they cannot")
	}
	path := filepath.Join(folder, "callers-"+sum[:16])
	return path, Library.Install(path)
}

// Environment returns an environment in which programs load the library that is
// installed in a folder, before all others. Nothing else in it changes.
func Environment(environ []string, folder string) []string {
	return prebuilt.Prepend(environ, "LD_PRELOAD", filepath.Join(folder, Library.Name))
}
