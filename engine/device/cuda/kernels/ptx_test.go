package kernels_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"memtop/engine/device/cuda/kernels"
	"memtop/engine/device/cuda/kernels/source"
)

func TestManifestIsOfTheseSources(t *testing.T) {
	manifest, err := os.ReadFile("ptx/MANIFEST")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(manifest)), "\n")[2:]
	names, err := fs.Glob(source.Files, "*")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, name := range names {
		text, err := source.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%x  source/%s", sha256.Sum256(text), name))
	}
	for m := range kernels.ModuleCount {
		want = append(want, fmt.Sprintf("%x  ptx/%v.ptx", sha256.Sum256(ptx(m)), m))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the PTX was made from other sources: run go generate\ngot:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// ptx returns the text of a module without the zero byte at its end.
func ptx(m kernels.Module) []byte {
	text := m.PTX()
	return text[:len(text)-1]
}

func TestEveryKernelIsInItsModule(t *testing.T) {
	for m := range kernels.ModuleCount {
		var got, want []string
		for _, match := range regexp.MustCompile(`\.visible \.entry (\w+)\(`).FindAllSubmatch(ptx(m), -1) {
			got = append(got, string(match[1]))
		}
		for k := range kernels.Count {
			if kernels.ModuleOf(k) == m {
				want = append(want, k.String())
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%v: entry points %v, kernels %v", m, got, want)
		}
		if len(m.PTX()) < len(kernels.Smallest.PTX()) {
			t.Errorf("%v is smaller than %v", m, kernels.Smallest)
		}
	}
}

func TestTheGeneratorHasTheSameModules(t *testing.T) {
	var got, want []string
	for _, m := range source.Modules {
		got = append(got, m.Name)
	}
	for m := range kernels.ModuleCount {
		want = append(want, m.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the generator makes %v, the program has %v", got, want)
	}
}

func TestGeneratingAgainGivesTheSameBytes(t *testing.T) {
	version, err := exec.CommandContext(t.Context(), "clang-19", "--version").Output()
	if err != nil {
		t.Skip("no clang-19: ", err)
	}
	manifest, err := os.ReadFile("ptx/MANIFEST")
	if err != nil {
		t.Fatal(err)
	}
	installed, _, _ := strings.Cut(string(version), "\n")
	if used, _, _ := strings.Cut(string(manifest), "\n"); used != "compiler "+installed {
		t.Skipf("the PTX was made by another compiler: %s, not %s", used, installed)
	}
	dir := t.TempDir()
	if text, err := exec.CommandContext(t.Context(), "go", "run", "./ptxgen", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	names := []string{"MANIFEST"}
	for m := range kernels.ModuleCount {
		names = append(names, m.String()+".ptx")
	}
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("ptx", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("ptx/%s differs from the compiler's output for the sources (%v)", name, err)
		}
	}
}

// assembler returns NVIDIA's assembler, if the machine has it: MEMTOP_PTXAS or
// the one in the path.
func assembler(t *testing.T) string {
	t.Helper()
	name := os.Getenv("MEMTOP_PTXAS")
	if name == "" {
		name = "ptxas"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip("no ptxas in the path or MEMTOP_PTXAS: ", err)
	}
	return path
}

func TestTheAssemblerTakesTheModules(t *testing.T) {
	ptxas := assembler(t)
	for _, m := range source.Modules {
		machines := []string{"sm_80", "sm_90", "sm_120"}
		if m.Architecture != "sm_80" {
			machines = []string{m.Architecture}
		}
		for _, machine := range machines {
			t.Run(m.Name+" for "+machine, func(t *testing.T) {
				text, err := exec.CommandContext(t.Context(), ptxas, "-v", "-arch="+machine, "-o", os.DevNull, filepath.Join("ptx", m.Name+".ptx")).CombinedOutput()
				switch {
				case bytes.Contains(text, []byte("is not defined for option 'gpu-name'")):
					t.Skip("this assembler does not know the machine")
				case err != nil:
					t.Fatalf("%v\n%s", err, text)
				}
				// A few bytes kept across a call do not matter.
				for _, spill := range regexp.MustCompile(`\d{3,} bytes spill \w+`).FindAll(text, -1) {
					t.Errorf("registers do not suffice: %s", spill)
				}
			})
		}
	}
}
