// Package source holds the sources of the CUDA kernels. The generator compiles
// them to PTX, the host build for an ordinary processor. A program that only runs
// kernels does not import it.
package source

import (
	"embed"
	"strings"
)

// Files holds every source and header.
//
//go:embed *.cu *.h
var Files embed.FS

// Module is the sources of one module.
type Module struct {
	Name string // as package kernels names it
	// Architecture is the least that it runs on: "sm_80" for 8.0 and later,
	// "sm_90a" for 9.0 alone.
	Architecture string
	Files        []string
}

// machines are the GPUs whose machine code a module brings along: one of every
// kind from Ampere on, those of data centres and those of desks. Others compile
// PTX.
var machines = []string{"sm_120", "sm_100", "sm_90", "sm_89", "sm_86", "sm_80"}

// Machines are the GPUs that the module has machine code for, the newest first.
func (m Module) Machines() []string {
	if m.Architecture != "sm_80" {
		return []string{m.Architecture}
	}
	return machines
}

// Modules are all modules. Kernels that a run uses together are together, and
// kernels that compile slowly are alone, so that no run compiles what it does not
// use.
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

// Text is C++ that includes the module's files.
func (m Module) Text() string {
	var b strings.Builder
	for _, name := range m.Files {
		b.WriteString("#include \"" + name + "\"\n")
	}
	return b.String()
}

// All is C++ that includes the files of all modules.
func All() string {
	var b strings.Builder
	for _, m := range Modules {
		b.WriteString(m.Text())
	}
	return b.String()
}
