package truthtest

import (
	"context"
	"encoding/json"
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

// Told is what a program says of its own memory.
type Told struct {
	Changes []string          `json:"changes"` // it can run with these remedies: names of kinds of findings
	Expect  []string          `json:"expect"`  // findings that must be there
	Wrong   map[string]string `json:"wrong"`   // findings that must not be there, with the reason
	Holders []string          `json:"holders"` // functions whose lines hold most at the peak, in order
	Fits    *bool             `json:"fits"`    // whether memory was enough, null if that is not the question
	Devices []Device          `json:"devices"`
}

// Device is one device.
type Device struct {
	Number   int      `json:"device"`
	Peak     int64    `json:"peak"`     // requested bytes
	Reserved int64    `json:"reserved"` // at most, in bytes
	Capacity int64    `json:"capacity"` // bytes that the process could reserve at the end
	Moments  []Moment `json:"moments"`  // the first is the peak; the others are of steps
	Steps    []int64  `json:"steps"`    // the peak of each
}

// Moment has the blocks that are alive after an event.
type Moment struct {
	Event  int     `json:"event"`
	Blocks []Block `json:"blocks"`
}

// Block is memory in use.
type Block struct {
	Address    uint64
	Size       int64
	Categories []string // each of these is right
}

// UnmarshalJSON reads a list of the three.
func (b *Block) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &[]any{&b.Address, &b.Size, &b.Categories}); err != nil {
		return fmt.Errorf("a block: %w", err)
	}
	return nil
}

// Read reads what a program left in its folder.
func Read(folder string) (*Told, error) {
	text, err := os.ReadFile(filepath.Join(folder, "truth.json"))
	if err != nil {
		return nil, err
	}
	var told Told
	if err := json.Unmarshal(text, &told); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return &told, nil
}
