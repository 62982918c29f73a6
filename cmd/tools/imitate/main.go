// Command imitate runs a program on the imitated GPU, as it would run on a real
// one: nothing ends it early, and nothing but the GPU differs. Tests of the agent
// use it. Users rehearse their programs with memtop rehearse, which also reads
// what a value would have been, and reports.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

func main() {
	name := flag.String("gpu", "h100-80gb", "a GPU of the catalogue: memtop rehearse --gpu list")
	devices := flag.Int("gpus", 1, "how many of them")
	flag.Parse()
	if err := run(*name, *devices, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "imitate:", err)
		os.Exit(2)
	}
}

// run replaces this process by the program. It returns only if that fails.
func run(name string, devices int, args []string) error {
	gpu, known := imitation.Find(name)
	if !known {
		return fmt.Errorf("there is no GPU %q in the catalogue", name)
	}
	if len(args) == 0 {
		return fmt.Errorf("it needs a program, such as python train.py")
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	library, err := imitation.Library.For(runtime.GOARCH)
	if err != nil {
		return err
	}
	// The program may end in any way, so nothing could remove the library: it stays for the next one. Another
	// build of this command has a folder of its own, for it may not replace what a program is loading.
	folder := filepath.Join(cache, fmt.Sprintf("memtop-imitation-%.8x", sha256.Sum256(library)))
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return err
	}
	if err := imitation.Install(folder); err != nil {
		return err
	}
	if err := os.Setenv(imitation.GPUVariable, gpu.Variable(devices, false)); err != nil { // also where a program on another GPU runs this
		return err
	}
	return syscall.Exec(path, args, imitation.Environment(os.Environ(), folder))
}
