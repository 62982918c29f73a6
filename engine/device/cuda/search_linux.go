package cuda

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// # Where libraries are looked for
//
// In MEMTOP_CUDA_LIB_DIR, where the loader looks, and where installations of
// drivers and toolkits put them. cuBLASLt and others also come with PyTorch's wheels:
// they are looked for in the Python environment that is active, and last Python is
// asked for its folders.

// folders yields where any library may be, "" for the loader's own folders.
func folders() iter.Seq[string] {
	return func(yield func(string) bool) {
		dir, set := os.LookupEnv("MEMTOP_CUDA_LIB_DIR")
		if set && dir != "" && !yield(dir) {
			return
		}
		for _, dir := range []string{
			"", "/usr/local/nvidia/lib64", "/usr/local/cuda/lib64",
			"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib/wsl/lib",
		} {
			if !yield(dir) {
				return
			}
		}
	}
}

// libraryFolders yields where a library of CUDA's may be, or a Python and why it gave no answer.
func libraryFolders() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for dir := range folders() {
			if !yield(dir, nil) {
				return
			}
		}
		for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
			if env := os.Getenv(name); env != "" && !yieldWheels(filepath.Join(env, "lib/python3*/site-packages"), yield) {
				return
			}
		}
		for _, name := range []string{"python3", "python"} {
			python, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			packages, err := askPython(python)
			if err != nil && !yield(python, err) {
				return
			}
			for _, dir := range packages {
				if !yieldWheels(dir, yield) {
					return
				}
			}
			if err == nil {
				return // python is python3, or an older one
			}
		}
	}
}

// yieldWheels yields the folders of NVIDIA's wheels in folders of packages: each
// version and part of CUDA has one.
func yieldWheels(packages string, yield func(string, error) bool) bool {
	found, _ := filepath.Glob(filepath.Join(packages, "nvidia/*/lib")) // the pattern is ours
	for _, dir := range found {
		if !yield(dir, nil) {
			return false
		}
	}
	return true
}

// pythonLimit is how long Python may take to name its folders. Starting it takes
// 20 ms, and a second from a cold disk.
var pythonLimit = 3 * time.Second

// askPython returns the folders from which a Python imports packages.
func askPython(python string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), pythonLimit)
	defer cancel()
	p := exec.CommandContext(ctx, python, "-c", `import sys; print("\n".join(sys.path))`)
	p.WaitDelay = time.Second / 10 // for a script whose own process goes on
	out, err := p.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("it did not name its folders within %v", pythonLimit)
	}
	if err != nil {
		return nil, fmt.Errorf("it does not name its folders: %w", err)
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		if dir := strings.TrimSpace(line); filepath.IsAbs(dir) { // "" is the working directory, which is no installation
			list = append(list, dir)
		}
	}
	return list, nil
}

// isAbsent reports whether a failure to load means that there is no such library,
// rather than one that does not load.
func isAbsent(err error, path string) bool {
	if err == nil {
		return false
	}
	if filepath.IsAbs(path) {
		_, missing := os.Stat(path)
		return missing != nil
	}
	return strings.HasPrefix(err.Error(), path+": cannot open shared object file")
}

// fileAt returns the file whose content is at an address of this process, "" if
// that is not known.
func fileAt(addr uintptr) string {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return ""
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x", &from, &to); n == 2 && addr >= from && addr < to {
			_, path, _ := strings.Cut(lines.Text(), " /")
			return "/" + path
		}
	}
	return ""
}
