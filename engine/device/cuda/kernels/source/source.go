// Package source holds the sources of the CUDA kernels. The generator compiles
// them to PTX, and the host build compiles them for an ordinary processor. A
// program that only runs kernels does not import it.
package source

import (
	"embed"
	"io/fs"
	"strings"
)

// files holds every source and header.
//
//go:embed *.cu *.h
var files embed.FS

// Each calls do with the name and the text of every source and header, by name, and
// returns its first error.
func Each(do func(name string, text []byte) error) error {
	names, err := fs.Glob(files, "*")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if err := do(name, text); err != nil {
			return err
		}
	}
	return nil
}

// Module holds the sources of one module.
type Module struct {
	Name  string // as package kernels names it
	Files []string
}

// Machines are the GPUs for which a module contains machine code, the newest first: one
// of every kind from Ampere on, for data centres and for desktops. Other GPUs compile
// the PTX, which is for Least and later.
var Machines = []string{"sm_120", "sm_100", "sm_90", "sm_89", "sm_86", Least}

// Least is the lowest architecture that runs the kernels.
const Least = "sm_80"

// Modules lists all modules. Kernels that a run uses together share a module.
// Kernels that compile slowly have their own, so that no run compiles kernels
// that it does not use.
var Modules = []Module{
	{"elementwise", []string{"elementwise.cu", "strided.cu", "reduce.cu", "lookup.cu", "random.cu"}},
	{"optimizers", []string{"list.cu", "optimizer.cu", "optimizer8.cu"}},
	{"norms", []string{"norm.cu", "softmax.cu", "attention.cu"}},
	{"matmul", []string{"matmul.cu"}},
	{"matmul_bfloat", []string{"matmul_bfloat.cu"}},
	{"matmul_half", []string{"matmul_half.cu"}},
	{"flash", []string{"flash.cu"}},
	{"flash_bfloat", []string{"flash_bfloat.cu"}},
	{"flash_half", []string{"flash_half.cu"}},
	{"convolutions", []string{"conv.cu"}},
}

// Text returns C++ that includes the module's files.
func (m Module) Text() string {
	var b strings.Builder
	for _, name := range m.Files {
		b.WriteString("#include \"" + name + "\"\n")
	}
	return b.String()
}
