package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"

	"github.com/memtop/memtop/engine/device/cuda/kernels/source"
)

// release is the version of ptxas that makes the machine code.
const release = "12.9.86"

// mostSpilled is how many bytes a thread may keep in memory for lack of
// registers. A few bytes that are rarely read do not matter.
const mostSpilled = 64

// assembler makes machine code of PTX. Safe for concurrent use; a nil assembler
// makes none.
type assembler struct{ ptxas string }

// defaultAssembler returns the ptxas that MEMTOP_PTXAS names, else the one in
// PATH.
func defaultAssembler() string {
	if name := os.Getenv("MEMTOP_PTXAS"); name != "" {
		return name
	}
	return "ptxas"
}

// newAssembler returns an assembler, or nil for the empty command.
func newAssembler(ctx context.Context, ptxas string) (*assembler, error) {
	if ptxas == "" {
		return nil, nil //nolint:nilnil // as the function says
	}
	version, _, err := output(ctx, "", "", ptxas, "--version")
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w\nMEMTOP_PTXAS must name ptxas %s, which Python's package nvidia-cuda-nvcc-cu12 has", err, release)
	case !bytes.Contains(version, []byte("V"+release+"\n")):
		return nil, fmt.Errorf("machine code is made by ptxas %s, and %s is another:\n%s", release, ptxas, version)
	}
	return &assembler{ptxas}, nil
}

// line returns the assembler's line of MANIFEST.
func (a *assembler) line() string {
	if a == nil {
		return "no assembler\n"
	}
	return "assembler ptxas " + release + "\n"
}

// machines returns the GPUs for which modules get machine code.
func (a *assembler) machines() []string {
	if a == nil {
		return nil
	}
	return source.Machines
}

// assemble returns a module's machine code for all machines. The error joins all
// failures.
func (a *assembler) assemble(ctx context.Context, ptx []byte) ([]file, error) {
	machines := a.machines()
	files, errs := make([]file, len(machines)), make([]error, len(machines))
	var group sync.WaitGroup
	for i, machine := range machines {
		group.Go(func() {
			image, err := a.image(ctx, machine, ptx)
			files[i], errs[i] = file{machine + ".cubin", image}, err
		})
	}
	group.Wait()
	return files, errors.Join(errs...)
}

// image returns the machine code of PTX for one machine.
func (a *assembler) image(ctx context.Context, machine string, ptx []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "modulegen")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	in, out := filepath.Join(dir, "ptx"), filepath.Join(dir, "image")
	if err := os.WriteFile(in, ptx, 0o600); err != nil {
		return nil, err
	}
	_, said, err := output(ctx, "", "", a.ptxas, "-v", "-arch="+machine, "-o", out, in)
	if err != nil {
		return nil, err
	}
	if err := spills(said); err != nil {
		return nil, fmt.Errorf("%s: %w", machine, err)
	}
	return os.ReadFile(out)
}

var properties = regexp.MustCompile(`Function properties for (\w+)\s+\d+ bytes stack frame, (\d+) bytes spill stores`)

// spills returns an error that names the kernels that need more registers than
// there are, according to the output of ptxas -v.
func spills(said []byte) error {
	var errs []error
	for _, kernel := range properties.FindAllSubmatch(said, -1) {
		if stores, _ := strconv.Atoi(string(kernel[2])); stores > mostSpilled {
			errs = append(errs, fmt.Errorf("%s spills %d bytes, and %d are allowed", kernel[1], stores, mostSpilled))
		}
	}
	return errors.Join(errs...)
}
