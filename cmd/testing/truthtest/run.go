package truthtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

// Runner runs programs on the imitated GPU.
type Runner struct {
	Python  string // an interpreter with PyTorch's CUDA build
	Folder  string // the library and the results are kept here
	library string
	// Kept says to take the results that are in the folder already.
	Kept bool
}

// Run runs a program, with a change unless that is empty, and returns the folder of
// its results.
func (r *Runner) Run(ctx context.Context, program, change string) (string, error) {
	folder := filepath.Join(r.Folder, program, change)
	if _, err := os.Stat(filepath.Join(folder, "truth.json")); r.Kept && err == nil {
		return folder, nil
	}
	if r.library == "" {
		library := filepath.Join(r.Folder, "library")
		if err := imitation.Install(library); err != nil {
			return "", err
		}
		r.library = library
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	gpu, _ := imitation.Find("h100-80gb")
	if strings.HasPrefix(program, "out_of_memory") || strings.HasPrefix(program, "refused") {
		gpu, _ = imitation.Find("t4")
	}
	cmd := exec.CommandContext(ctx, r.Python, filepath.Join("programs", program+".py"), folder, change) //nolint:gosec // of the test
	cmd.Env = append(imitation.Environment(os.Environ(), r.library),
		imitation.GPUVariable+"="+gpu.Variable(2, false), "OMP_NUM_THREADS=1", "HF_HUB_OFFLINE=1", "PYTHONDONTWRITEBYTECODE=1")
	if change == "expandable_segments" {
		cmd.Env = append(cmd.Env, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True")
	}
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, change, err, said)
	}
	return folder, nil
}
