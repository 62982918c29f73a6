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
	Name string // as package kernels names it
	// Architecture is the lowest architecture that runs the module: "sm_80" means
	// 8.0 and later, "sm_90a" means only 9.0.
	Architecture string
	Files        []string
}

// machines are the GPUs for which a module contains machine code: one of every
// kind from Ampere on, for data centres and for desktops. Other GPUs compile the
// PTX.
var machines = []string{"sm_120", "sm_100", "sm_90", "sm_89", "sm_86", "sm_80"}

// Machines returns the GPUs for which the module has machine code, the newest
// first.
func (m Module) Machines() []string {
	if m.Architecture != "sm_80" {
		return []string{m.Architecture}
	}
	return machines
}

// Modules lists all modules. Kernels that a run uses together share a module.
// Kernels that compile slowly have their own, so that no run compiles kernels
// that it does not use.
var Modules = []Module{
	{"elementwise", "sm_80", []string{"elementwise.cu", "strided.cu", "reduce.cu", "lookup.cu", "random.cu"}},
	{"optimizers", "sm_80", []string{"list.cu", "optimizer.cu", "optimizer8.cu"}},
	{"norms", "sm_80", []string{"norm.cu", "softmax.cu", "attention.cu"}},
	{"matmul", "sm_80", []string{"matmul.cu"}},
	{"matmul_bfloat", "sm_80", []string{"matmul_bfloat.cu"}},
	{"matmul_half", "sm_80", []string{"matmul_half.cu"}},
	{"hopper_bfloat", "sm_90a", []string{"hopper_bfloat.cu"}},
	{"hopper_half", "sm_90a", []string{"hopper_half.cu"}},
	{"flash", "sm_80", []string{"flash.cu"}},
	{"flash_bfloat", "sm_80", []string{"flash_bfloat.cu"}},
	{"flash_half", "sm_80", []string{"flash_half.cu"}},
	{"convolutions", "sm_80", []string{"conv.cu"}},
}

// Text returns C++ that includes the module's files.
func (m Module) Text() string {
	var b strings.Builder
	for _, name := range m.Files {
		b.WriteString("#include \"" + name + "\"\n")
	}
	return b.String()
}

// All returns C++ that includes the files of all modules.
func All() string {
	var b strings.Builder
	for _, m := range Modules {
		b.WriteString(m.Text())
	}
	return b.String()
}
