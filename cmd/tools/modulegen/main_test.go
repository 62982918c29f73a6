package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/kernels/source"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

// unpack returns the files of an archive.
func unpack(t *testing.T, archive []byte) (files []file) {
	t.Helper()
	unpacked, err := zstd.NewReader(bytes.NewReader(archive))
	fatal.If(t, err)
	defer unpacked.Close()
	for r := tar.NewReader(unpacked); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		fatal.If(t, err)
		content, err := io.ReadAll(r)
		fatal.If(t, err)
		files = append(files, file{header.Name, content})
	}
}

func TestMachineCodeIsOfItsPTX(t *testing.T) {
	ptxas := os.Getenv("MEMTOP_PTXAS")
	if ptxas == "" {
		t.Skip("MEMTOP_PTXAS names no ptxas; it takes a minute")
	}
	a, err := newAssembler(t.Context(), ptxas)
	fatal.If(t, err)
	for _, m := range source.Modules {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			archive := fatal.Read(t, "../../../engine/device/cuda/kernels/modules/"+m.Name+".tar.zst")
			files := unpack(t, archive)
			ptx := files[len(files)-1]
			made, err := a.assemble(t.Context(), ptx.content)
			fatal.If(t, err)
			// The files are compared, not the archive: compressors of other versions pack otherwise.
			if !cmp.Equal(append(made, ptx), files, cmp.AllowUnexported(file{})) {
				t.Error("assembling again gives other machine code")
			}
		})
	}
}

func TestAnArchiveIsTheSameEveryTime(t *testing.T) {
	files := []file{{"one", bytes.Repeat([]byte("one"), 1000)}, {"two", nil}, {"three", []byte("3")}}
	first, err := pack(files)
	fatal.If(t, err)
	if again, err := pack(files); err != nil || !bytes.Equal(first, again) {
		t.Errorf("packed again, the archive is another (%v)", err)
	}
	got := unpack(t, first)
	got[1].content = nil // empty otherwise
	equal.Values(t, "the result", files, got, cmp.AllowUnexported(file{}))
}
