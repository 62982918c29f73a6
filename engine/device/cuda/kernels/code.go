package kernels

import (
	"archive/tar"
	"bytes"
	"embed"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Each module is an archive, a zstd-compressed tar file: machine code of several
// GPUs, the newest first, then the PTX that it was made of.
//
//go:embed modules/*.tar.zst
var archives embed.FS

// Code is a module in a form that a driver loads. Its entry points are the names
// of the module's kernels.
type Code struct {
	// Machine says whose machine code it is: "sm_90". It is empty for PTX, which
	// every driver of CUDA 12.0 or later compiles for its GPU.
	Machine string
	Bytes   []byte // PTX ends with the zero byte that the driver needs
}

// Codes returns the forms of the module that a GPU of a compute capability may
// run, the most specific machine code first and PTX last. Each form is unpacked
// when the iteration reaches it, and belongs to the caller.
func (m Module) Codes(major, minor int) iter.Seq[Code] {
	return func(yield func(Code) bool) {
		for name, content := range m.files() {
			machine, isImage := strings.CutSuffix(name, ".cubin")
			switch {
			case isImage && !runsOn(machine, major, minor):
				continue
			case !isImage:
				machine = ""
			}
			code := Code{machine, content()}
			if !isImage {
				code.Bytes = append(code.Bytes, 0)
			}
			if !yield(code) {
				return
			}
		}
	}
}

// runsOn reports whether machine code runs on a compute capability: on its own, and on
// later ones of the same major version.
func runsOn(machine string, major, minor int) bool {
	var number int
	if _, err := fmt.Sscanf(machine, "sm_%d", &number); err != nil {
		panic("kernels: there is no machine " + machine) // it is part of the program
	}
	return number/10 == major && number%10 <= minor
}

// files goes through the files of the module's archive: their names, and a
// function that reads the content while the file is the current one.
func (m Module) files() iter.Seq2[string, func() []byte] {
	return func(yield func(string, func() []byte) bool) {
		packed, err := archives.ReadFile("modules/" + m.String() + ".tar.zst")
		check(err)
		unpacked, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
		check(err)
		defer unpacked.Close()
		archive := tar.NewReader(unpacked)
		for {
			header, err := archive.Next()
			if err == io.EOF {
				return
			}
			check(err)
			content := func() []byte {
				b := make([]byte, header.Size, header.Size+1) // and room for the end of PTX
				_, err := io.ReadFull(archive, b)
				check(err)
				return b
			}
			if !yield(header.Name, content) {
				return
			}
		}
	}
}

// check panics on failures of archives, which are part of the program.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
