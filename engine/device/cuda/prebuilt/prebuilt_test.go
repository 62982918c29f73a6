package prebuilt_test

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/callers"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/engine/device/cuda/prebuilt"
)

var architectures = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// a library of the project: some of what it gives to programs, and of what it keeps.
type kind struct {
	folder       string
	library      prebuilt.Library
	open, closed []string
}

var kinds = map[string]kind{
	"the imitated GPU": {
		"../imitation", imitation.Library,
		[]string{"cudaMalloc", "cuMemCreate", "cuGetProcAddress_v2", "cublasCreate_v2", "cudnnBackendFinalize", "ncclAllReduce", "nvmlInit_v2"},
		[]string{"copy", "take", "lookup", "report_memory", "device_alloc"},
	},
	"who calls the driver": {
		"../callers", callers.Library,
		[]string{"dlsym", "cudaMalloc", "cuMemCreate", "cuGetProcAddress_v2", "memtop_callers", "memtop_callers_state"},
		[]string{"take", "note", "watch", "driver", "cuInit", "cuLaunchKernel"},
	},
}

func manifest(t *testing.T, l prebuilt.Library) prebuilt.Manifest {
	t.Helper()
	m, err := l.Manifest()
	fatal.If(t, err)
	return m
}

func TestTheLibrariesAreOfTheseSources(t *testing.T) {
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			m := manifest(t, k.library)
			files, err := filepath.Glob(filepath.Join(k.folder, "library/*.[ch]"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no sources: %v", err)
			}
			for _, file := range files {
				text := fatal.Read(t, file)
				if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != m.Sums["library/"+filepath.Base(file)] {
					t.Errorf("%s is not the one that the libraries were built from: make imitation", file)
				}
			}
			if want := len(files) + len(architectures); len(m.Sums) != want {
				t.Errorf("the manifest has %d lines, want %d", len(m.Sums), want)
			}
		})
	}
}

func TestALibraryIsWhatProgramsCanLoad(t *testing.T) {
	for name, k := range kinds {
		for architecture, machine := range architectures {
			t.Run(name+" for "+architecture, func(t *testing.T) { checkLibrary(t, &k, architecture, machine) })
		}
		if _, err := k.library.For("mips"); err == nil {
			t.Errorf("there is %s for mips", name)
		}
	}
}

func checkLibrary(t *testing.T, k *kind, architecture string, machine elf.Machine) {
	t.Helper()
	library, err := k.library.For(architecture)
	fatal.If(t, err)
	f, err := elf.NewFile(bytes.NewReader(library))
	fatal.If(t, err)
	if f.Machine != machine || f.Type != elf.ET_DYN {
		t.Errorf("it is a %v for %v", f.Type, f.Machine)
	}
	if f.SectionByType(elf.SHT_GNU_VERDEF) != nil {
		t.Error("it has versions of its symbols, so it satisfies no reference to others")
	}
	needed, err := f.ImportedLibraries()
	fatal.If(t, err)
	for _, name := range needed {
		if !slices.Contains([]string{"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libm.so.6"}, name) {
			t.Errorf("it needs %s", name)
		}
	}
	if name, err := f.DynString(elf.DT_SONAME); err != nil || !slices.Equal(name, []string{k.library.Name}) {
		t.Errorf("it calls itself %q: %v", name, err)
	}
	checkSymbols(t, f, k)
}

func checkSymbols(t *testing.T, f *elf.File, k *kind) {
	t.Helper()
	imported, err := f.ImportedSymbols()
	fatal.If(t, err)
	for _, s := range imported {
		if !everySystemHas(s) {
			t.Errorf("%s of version %q of %q is not to be had everywhere", s.Name, s.Version, s.Library)
		}
	}
	symbols, err := f.DynamicSymbols()
	fatal.If(t, err)
	exported := make(map[string]bool)
	for _, s := range symbols {
		exported[s.Name] = exported[s.Name] || s.Section != elf.SHN_UNDEF
	}
	for _, name := range k.open {
		if !exported[name] {
			t.Errorf("it has no %s", name)
		}
	}
	for _, name := range k.closed {
		if exported[name] {
			t.Errorf("%s is open to programs", name)
		}
	}
}

// everySystemHas reports whether a symbol is in the C library of every system on which
// PyTorch runs, or is one that need not be there.
func everySystemHas(s elf.ImportedSymbol) bool {
	version, is := strings.CutPrefix(s.Version, "GLIBC_2.")
	minor, _, _ := strings.Cut(version, ".")
	number, err := strconv.Atoi(minor)
	optional := slices.Contains([]string{"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}, s.Name)
	return is && err == nil && number <= 17 || s.Version == "" && optional
}

// TestBuiltAgainItIsTheSame builds the libraries with the compiler of their manifests.
func TestBuiltAgainItIsTheSame(t *testing.T) {
	zig := os.Getenv("MEMTOP_ZIG")
	if zig == "" {
		t.Skip("MEMTOP_ZIG names no compiler")
	}
	version, err := exec.CommandContext(t.Context(), zig, "version").Output()
	fatal.If(t, err)
	generator := filepath.Join(t.TempDir(), "librarygen")
	if printed, err := exec.CommandContext(t.Context(), "go", "build", "-o", generator, "../../../../cmd/tools/librarygen").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			if want := manifest(t, k.library).Compiler; strings.TrimSpace(string(version)) != want {
				t.Skipf("MEMTOP_ZIG is version %s, and not %s", bytes.TrimSpace(version), want)
			}
			checkBuiltAgain(t, &k, generator)
		})
	}
}

func checkBuiltAgain(t *testing.T, k *kind, generator string) {
	t.Helper()
	folder := t.TempDir()
	fatal.If(t, os.Mkdir(filepath.Join(folder, "built"), 0o700))
	fatal.If(t, os.CopyFS(filepath.Join(folder, "library"), os.DirFS(filepath.Join(k.folder, "library"))))
	cmd := exec.CommandContext(t.Context(), generator, "-name", k.library.Name)
	cmd.Dir = folder
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	got := fatal.Read(t, filepath.Join(folder, "built", "MANIFEST"))
	want, err := os.ReadFile(filepath.Join(k.folder, "built", "MANIFEST"))
	if err != nil || string(got) != string(want) {
		t.Errorf("built again the manifest is\n%s\nwant\n%s", got, want)
	}
}
