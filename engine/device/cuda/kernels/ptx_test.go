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
	want = append(want, fmt.Sprintf("%x  ptx/sm80.ptx", sha256.Sum256(kernels.PTX)))
	if !slices.Equal(got, want) {
		t.Errorf("the PTX was made of other sources: run go generate\ngot:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEveryKernelIsInTheModule(t *testing.T) {
	var got, want []string
	for _, match := range regexp.MustCompile(`\.visible \.entry (\w+)\(`).FindAllSubmatch(kernels.PTX, -1) {
		got = append(got, string(match[1]))
	}
	for k := range kernels.Count {
		want = append(want, k.String())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("entry points %v, kernels %v", got, want)
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
	for _, name := range []string{"sm80.ptx", "MANIFEST"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("ptx", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("ptx/%s is not what the compiler makes of the sources (%v)", name, err)
		}
	}
}

// assembler returns NVIDIA's assembler, if the machine has it: MEMTOP_PTXAS or
// the path say where.
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

func TestTheAssemblerTakesTheModule(t *testing.T) {
	ptxas := assembler(t)
	file := filepath.Join(t.TempDir(), "module.ptx")
	if err := os.WriteFile(file, kernels.PTX, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, machine := range []string{"sm_80", "sm_90", "sm_120"} {
		t.Run(machine, func(t *testing.T) {
			text, err := exec.CommandContext(t.Context(), ptxas, "-v", "-arch="+machine, "-o", os.DevNull, file).CombinedOutput()
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
