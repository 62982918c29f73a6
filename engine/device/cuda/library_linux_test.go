package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
)

// TestALibraryThatIsNotThereHasAReason has goroutines change threads while many
// look for one.
func TestALibraryThatIsNotThereHasAReason(t *testing.T) {
	const name = "libnot-there.so"
	var looking sync.WaitGroup
	for range 64 {
		looking.Go(func() {
			for range 20 {
				if _, _, err := load([]string{name}); err == nil || !strings.Contains(err.Error(), name+": cannot open") {
					t.Errorf("got %q, want why %s was not loaded", err, name)
					return
				}
			}
		})
	}
	looking.Wait()
}

// wheel makes a Python's folder of packages with NVIDIA's libraries in it, of
// which the loader takes none, and returns where they are.
func wheel(t *testing.T, names ...string) (packages string, paths []string) {
	t.Helper()
	packages = filepath.Join(t.TempDir(), "lib/python3.13/site-packages")
	dir := filepath.Join(packages, "nvidia/cu13/lib")
	fatal.If(t, os.MkdirAll(dir, 0o700))
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
		fatal.If(t, os.WriteFile(filepath.Join(dir, name), []byte("no library"), 0o600))
	}
	return packages, paths
}

// interpreters makes PATH a folder with scripts, by their names.
func interpreters(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		fatal.If(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o700)) //nolint:gosec // it is to be run
	}
	t.Setenv("PATH", dir)
}

// look returns the paths of what is found, the reasons of Pythons behind them.
func look(want int) (paths []string) {
	for f := range blasLibraries() {
		paths = append(paths, f.path)
		if !strings.Contains(f.path, ".so.") {
			paths[len(paths)-1] = filepath.Base(f.path) + ": " + f.err.Error()
		}
		if len(paths) == want {
			break
		}
	}
	return paths
}

func TestTheLibraryOfAPythonIsFound(t *testing.T) {
	packages, wheels := wheel(t, "libcublasLt.so.12", "libcublasLt.so.13")
	newest := []string{wheels[1], wheels[0]}
	explicit := fatal.Write(t, "libcublasLt.so.12", []byte("no library"))
	root := filepath.Join(packages, "../../..")
	tests := map[string]struct {
		environment map[string]string
		scripts     map[string]string
		want        []string
	}{
		"the newest first":             {nil, map[string]string{"python3": "echo; echo " + packages}, newest},
		"of python, without python3":   {nil, map[string]string{"python": "echo " + packages}, newest},
		"of python, as python3 fails":  {nil, map[string]string{"python3": "exit 3", "python": "echo " + packages}, append([]string{"python3: it does not name its folders: exit status 3"}, newest...)},
		"of an active environment":     {map[string]string{"VIRTUAL_ENV": root}, nil, newest},
		"of conda":                     {map[string]string{"CONDA_PREFIX": root}, nil, newest},
		"where the user says, first":   {map[string]string{"VIRTUAL_ENV": root, "MEMTOP_CUDA_LIB_DIR": filepath.Dir(explicit)}, nil, append([]string{explicit}, newest...)},
		"not in the working directory": {nil, map[string]string{"python3": "echo .; echo nvidia"}, nil},
		"nowhere":                      {nil, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX", "MEMTOP_CUDA_LIB_DIR"} {
				t.Setenv(name, test.environment[name])
			}
			interpreters(t, test.scripts)
			equal.Values(t, "found", test.want, look(-1))
		})
	}
}

func TestPythonIsAskedLastAndForALimitedTime(t *testing.T) {
	packages, wheels := wheel(t, "libcublasLt.so.13")
	asked := filepath.Join(t.TempDir(), "asked")
	interpreters(t, map[string]string{"python3": fmt.Sprintf("echo > %s; while :; do read line; done < /dev/zero", asked)})
	t.Setenv("VIRTUAL_ENV", filepath.Join(packages, "../../.."))
	if got := look(1); got[0] != wheels[0] {
		t.Errorf("found %v, want that of the environment", got)
	}
	if _, err := os.Stat(asked); err == nil {
		t.Error("Python was asked for what had been found")
	}
	defer func(d time.Duration) { pythonLimit = d }(pythonLimit)
	pythonLimit = time.Second / 5
	if got := look(-1); len(got) != 2 || got[1] != "python3: it did not name its folders within 200ms" {
		t.Errorf("found %q, want that Python does not answer", got)
	}
}

// TestALibraryIsUsedFromItsFile loads one that a C compiler made.
func TestALibraryIsUsedFromItsFile(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to make a library with: ", err)
	}
	dir := t.TempDir()
	var source strings.Builder
	for _, name := range blasNames {
		fmt.Fprintf(&source, "int %s(void) { return 120803; }\n", name)
	}
	file := filepath.Join(dir, "libcublasLt.so.12.8.3")
	c := exec.Command(cc, "-shared", "-fPIC", "-xc", "-", "-o", file)
	c.Stdin = strings.NewReader(source.String())
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fatal.If(t, os.Symlink(file, filepath.Join(dir, "libcublasLt.so.12")))
	t.Setenv("MEMTOP_CUDA_LIB_DIR", dir)
	for f := range blasLibraries() {
		if f.err != nil || f.path != file {
			t.Fatalf("%s: %v, want the file %s", f.path, f.err, file)
		}
		if got := (&blas{library: f.library}).version(); got != "12.8.3" {
			t.Errorf("its version is %s", got)
		}
		return
	}
	t.Error("nothing was found")
}
