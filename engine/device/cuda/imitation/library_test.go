package imitation_test

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

var architectures = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

func manifest(t *testing.T) imitation.Manifest {
	t.Helper()
	m, err := imitation.ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// installable returns the library for this machine, and skips the test if there
// is none.
func installable(t *testing.T) []byte {
	t.Helper()
	library, err := imitation.Library(runtime.GOARCH)
	if runtime.GOOS != "linux" || err != nil {
		t.Skipf("no GPU is imitated on %s, %s", runtime.GOOS, runtime.GOARCH)
	}
	return library
}

func TestTheLibrariesAreOfTheseSources(t *testing.T) {
	m := manifest(t)
	files, err := filepath.Glob("library/*.[ch]")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != m.Sums[file] {
			t.Errorf("%s is not the one that the libraries were built from: make imitation", file)
		}
	}
	if want := len(files) + len(architectures); len(m.Sums) != want {
		t.Errorf("the manifest has %d lines, want %d", len(m.Sums), want)
	}
}

func TestALibraryIsWhatProgramsCanLoad(t *testing.T) {
	for architecture, machine := range architectures {
		t.Run(architecture, func(t *testing.T) {
			library, err := imitation.Library(architecture)
			if err != nil {
				t.Fatal(err)
			}
			f, err := elf.NewFile(bytes.NewReader(library))
			if err != nil {
				t.Fatal(err)
			}
			if f.Machine != machine || f.Type != elf.ET_DYN {
				t.Errorf("it is a %v for %v", f.Type, f.Machine)
			}
			if f.SectionByType(elf.SHT_GNU_VERDEF) != nil {
				t.Error("it has versions of its symbols, so it satisfies no reference to others")
			}
			needed, err := f.ImportedLibraries()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range needed {
				if !slices.Contains([]string{"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libm.so.6"}, name) {
					t.Errorf("it needs %s", name)
				}
			}
			checkSymbols(t, f)
		})
	}
	if _, err := imitation.Library("mips"); err == nil {
		t.Error("there is one for mips")
	}
}

func checkSymbols(t *testing.T, f *elf.File) {
	t.Helper()
	imported, err := f.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range imported {
		if !everySystemHas(s) {
			t.Errorf("%s of version %q of %q is not to be had everywhere", s.Name, s.Version, s.Library)
		}
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	exported := make(map[string]bool)
	for _, s := range symbols {
		exported[s.Name] = exported[s.Name] || s.Section != elf.SHN_UNDEF
	}
	for _, name := range []string{"cudaMalloc", "cuMemCreate", "cuGetProcAddress_v2", "cublasCreate_v2", "cudnnBackendFinalize", "ncclAllReduce", "nvmlInit_v2"} {
		if !exported[name] {
			t.Errorf("it has no %s", name)
		}
	}
	for name := range exported {
		if slices.Contains([]string{"copy", "take", "lookup", "report_memory", "device_alloc"}, name) {
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

// TestBuiltAgainItIsTheSame builds the libraries with the compiler of the manifest.
func TestBuiltAgainItIsTheSame(t *testing.T) {
	zig := os.Getenv("MEMTOP_ZIG")
	if zig == "" {
		t.Skip("MEMTOP_ZIG names no compiler")
	}
	version, err := exec.CommandContext(t.Context(), zig, "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := manifest(t).Compiler; strings.TrimSpace(string(version)) != want {
		t.Skipf("MEMTOP_ZIG is version %s, and not %s", bytes.TrimSpace(version), want)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "built"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, "library"), os.DirFS("library")); err != nil {
		t.Fatal(err)
	}
	generator := filepath.Join(folder, "librarygen")
	if printed, err := exec.CommandContext(t.Context(), "go", "build", "-o", generator, "../../../../cmd/tools/librarygen").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	cmd := exec.CommandContext(t.Context(), generator)
	cmd.Dir = folder
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	got, err := os.ReadFile(filepath.Join(folder, "built", "MANIFEST"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("built/MANIFEST")
	if err != nil || string(got) != string(want) {
		t.Errorf("built again the manifest is\n%s\nwant\n%s", got, want)
	}
}

func TestProgramsKeepWhatTheyLoad(t *testing.T) {
	got := imitation.Environment([]string{"A=1", "LD_PRELOAD=liba.so", "LD_LIBRARY_PATH=/lib", "B="}, "/f")
	want := []string{"A=1", "B=", "LD_PRELOAD=/f/libmemtop-imitation.so:liba.so", "LD_LIBRARY_PATH=/f:/lib"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got, want := imitation.Environment(nil, "/f"), []string{"LD_PRELOAD=/f/libmemtop-imitation.so", "LD_LIBRARY_PATH=/f"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
