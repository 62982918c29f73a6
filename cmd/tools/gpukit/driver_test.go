package gpukit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// loaded is what the library of products says that lies beside the driver of testdata.
const loaded = "cuBLASLt is loaded"

// stubDriver makes the driver of testdata in a folder, and a library of products that
// has none.
func stubDriver(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler to make a driver with: ", err)
	}
	dir := t.TempDir()
	for name, source := range map[string]string{"libcuda.so.1": "driver.c", "libcublasLt.so.13": "cublaslt.c"} {
		out, err := exec.CommandContext(t.Context(), cc, "-shared", "-fPIC", "-o", filepath.Join(dir, name), filepath.Join("testdata", source)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// build makes programs of the kit as `make gpu-kit` does.
func build(t *testing.T, commands, tests []string) string {
	t.Helper()
	dir := t.TempDir()
	calls := [][]string{append([]string{"build", "-ldflags", "-s -w", "-o", dir}, commands...)}
	for _, name := range tests {
		calls = append(calls, []string{"test", "-c", "-ldflags", "-s -w", "-o", filepath.Join(dir, filepath.Base(name)+".test"), name})
	}
	for _, args := range calls {
		p := exec.CommandContext(t.Context(), "go", args...) //nolint:gosec // it builds programs of this project
		p.Dir, p.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := p.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// TestADriverThatFailsEndsNoKit runs the programs of the kit on a driver that hangs,
// faults or refuses.
func TestADriverThatFailsEndsNoKit(t *testing.T) {
	if os.Getenv("MEMTOP_LONG") == "" {
		t.Skip("it builds programs, which takes a minute: MEMTOP_LONG=1 lets it")
	}
	const parts = 14
	driver := stubDriver(t)
	built := build(t, []string{"./cmd/tools/bench", "./cmd/memtrain", "./cmd/memtop"}, []string{"./engine/device/cuda", "./engine/device/cuda/kernels"})
	tests := map[string]struct {
		seconds int // of a part
		rows    map[string]string
	}{
		"refuse": {10, map[string]string{
			"driver: all": "SKIP there is no GPU: bench: the NVIDIA driver does not start: cuInit: CUDA_ERROR_NO_DEVICE (100): the stub was asked for it",
		}},
		"hang": {3, map[string]string{
			"driver: all": "FAIL it was stopped after 3 s", "device: all": "FAIL it was stopped after 3 s, during TestAGPU",
		}},
		"fault": {15, map[string]string{
			"driver: three steps of memtrain": "FAIL memtrain: ", "driver: all": "FAIL exit code 1",
			"device: TestAGPUSendsOverTheHost": "FAIL ", "device: TestAGPUHasExpandableSegments": "FAIL ", "device: all": "FAIL exit code 1",
		}},
	}
	for mode, test := range tests {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, map[string]string{"nvidia-smi": "", "python3": "exit 1", "compute-sanitizer": `shift 4; exec "$@"`},
				"STUB_DRIVER="+mode, "MEMTOP_CUDA_LIB_DIR="+driver, fmt.Sprintf("KIT_SECONDS=%d", test.seconds), "KIT_TESTS=AGPU|TestMatMul", "XDG_RUNTIME_DIR="+t.TempDir())
			programs, err := os.ReadDir(built)
			for _, program := range programs {
				at := filepath.Join(k.dir, program.Name())
				err = errors.Join(err, os.Remove(at), os.Symlink(filepath.Join(built, program.Name()), at))
			}
			fatal.If(t, err)
			began := time.Now()
			got, _ := k.table()
			all := 0
			for name := range got {
				if strings.HasSuffix(name, ": all") {
					all++
				}
			}
			if all != parts {
				t.Errorf("%d parts have a line, want %d", all, parts)
			}
			// Beside its time a part has that of the probe before all, and to end what is left.
			if took := time.Since(began); took > time.Duration((parts+1)*(test.seconds+10))*time.Second {
				t.Errorf("%d parts of %d s took %v", parts, test.seconds, took)
			}
			for name, row := range test.rows {
				if !strings.HasPrefix(got[name], row) {
					t.Errorf("%s: %q, want %q", name, got[name], row)
				}
			}
			for _, part := range []string{"device", "kernels"} {
				if log, err := os.ReadFile(filepath.Join(k.dir, "results", part+".log")); err == nil && strings.Contains(string(log), loaded) {
					t.Errorf("the tests of %s load cuBLASLt, which they do not need", part)
				}
			}
			k.nothingLeft()
		})
	}
}
