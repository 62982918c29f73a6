package kernels_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
	"github.com/memtop/memtop/engine/device/cuda/kernels/source"
)

func TestManifestIsOfTheseSources(t *testing.T) {
	got := strings.Split(strings.TrimSpace(read(t, "modules/MANIFEST")), "\n")[3:]
	var want []string
	err := source.Each(func(name string, text []byte) error {
		want = append(want, fmt.Sprintf("%x  source/%s", sha256.Sum256(text), name))
		return nil
	})
	fatal.If(t, err)
	for i, m := range source.Modules {
		want = append(want, fmt.Sprintf("%x  %s.ptx", sha256.Sum256(ptxOf(t, kernels.Module(i))), m.Name),
			fmt.Sprintf("%x  %s.tar.zst with %v", sha256.Sum256([]byte(read(t, "modules/"+m.Name+".tar.zst"))), m.Name, source.Machines))
	}
	equal.Values(t, "the modules were made from other sources, or without machine code: run go generate, which needs clang-19 and ptxas", want, got)
}

func read(t *testing.T, name string) string {
	t.Helper()
	content := fatal.Read(t, name)
	return string(content)
}

// codes returns the forms of a module for a compute capability, by machine.
func codes(m kernels.Module, major, minor int) map[string][]byte {
	forms := make(map[string][]byte)
	for code := range m.Codes(major, minor) {
		forms[code.Machine] = code.Bytes
	}
	return forms
}

// ptxOf returns the PTX of a module without the zero byte at its end.
func ptxOf(t *testing.T, m kernels.Module) []byte {
	t.Helper()
	text, ok := bytes.CutSuffix(codes(m, 0, 0)[""], []byte{0})
	if !ok {
		t.Fatalf("%v: the PTX does not end in a zero byte", m)
	}
	return text
}

func TestEveryKernelIsInItsModule(t *testing.T) {
	for m := range kernels.ModuleCount {
		var got, want []string
		for _, match := range regexp.MustCompile(`\.visible \.entry (\w+)\(`).FindAllSubmatch(ptxOf(t, m), -1) {
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
		if len(ptxOf(t, m)) < len(ptxOf(t, kernels.Smallest)) {
			t.Errorf("%v is smaller than %v", m, kernels.Smallest)
		}
	}
}

func TestAGPUGetsTheMachineCodeThatItRuns(t *testing.T) {
	tests := map[string]struct {
		module       kernels.Module
		major, minor int
		want         []string
	}{
		"A100":                           {kernels.Norms, 8, 0, []string{"sm_80", ""}},
		"RTX 3090":                       {kernels.Norms, 8, 6, []string{"sm_86", "sm_80", ""}},
		"RTX 4090":                       {kernels.Norms, 8, 9, []string{"sm_89", "sm_86", "sm_80", ""}},
		"H100":                           {kernels.Norms, 9, 0, []string{"sm_90", ""}},
		"B200":                           {kernels.Norms, 10, 0, []string{"sm_100", ""}},
		"B300, later than what is there": {kernels.Norms, 10, 3, []string{"sm_100", ""}},
		"RTX 5090":                       {kernels.Norms, 12, 0, []string{"sm_120", ""}},
		"Thor, for which there is none":  {kernels.Norms, 11, 0, []string{""}},
		"a GPU after all these":          {kernels.Norms, 13, 0, []string{""}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for code := range test.module.Codes(test.major, test.minor) {
				got = append(got, code.Machine)
			}
			equal.Values(t, "the result", test.want, got)
		})
	}
}

func TestGeneratingAgainGivesTheSameBytes(t *testing.T) {
	if !thorough {
		t.Skip("it compiles for a minute: MEMTOP_GPU=ptx lets it")
	}
	version, err := exec.CommandContext(t.Context(), "clang-19", "--version").Output()
	if err != nil {
		t.Skip("no clang-19: ", err)
	}
	installed, _, _ := strings.Cut(string(version), "\n")
	manifest := read(t, "modules/MANIFEST")
	if used, _, _ := strings.Cut(manifest, "\n"); used != "compiler "+installed {
		t.Skipf("the PTX was made by another compiler: %s, not %s", used, installed)
	}
	dir := t.TempDir()
	if text, err := exec.CommandContext(t.Context(), "go", "run", "../../../../cmd/tools/modulegen", "-ptxas", "", "-o", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	// Machine code is made again by `make ptxas`.
	without := func(manifest string) (lines []string) {
		for line := range strings.Lines(manifest) {
			if !strings.Contains(line, "assembler") && !strings.Contains(line, ".tar.zst") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	equal.Values(t, "the compiler's output for the sources is another: run go generate", without(read(t, filepath.Join(dir, "MANIFEST"))), without(manifest))
}
