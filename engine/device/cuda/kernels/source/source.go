// Package source holds the sources of the CUDA kernels: what the generator
// compiles to PTX, and what the host build compiles for an ordinary processor.
// A program that only runs kernels does not import it.
package source

import "embed"

// Main is the file that includes all others.
const Main = "memtop.cu"

// Files holds every source and header.
//
//go:embed *.cu *.h
var Files embed.FS
