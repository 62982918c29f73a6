// Package cmd_test checks the rules that hold for the whole module.
package cmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is what go.mod calls this project.
const module = "github.com/memtop/memtop"

// picture is docs/architecture.md's drawing of who may import whom: for every
// package of the product, what it may import of the module and of others. A
// name that ends in /... stands for the packages below it too. The standard
// library is open to all, and everything to what only developers or tests use,
// which the product imports nothing of.
var picture = map[string][]string{
	"snapshots/cause/...":          {}, // what an error means, for all
	"snapshots/quantity":           {},
	"snapshots/mapped":             {}, // files in memory, for all who have some
	"snapshots/procfs":             {}, // files of /proc, for all who read them
	"snapshots/hostmemory":         {"snapshots/procfs"},
	"snapshots/launcher":           {}, // where torchrun and others have put a process
	"snapshots/trace":              {},
	"snapshots/analysis/leak":      {"snapshots/quantity", "snapshots/trace"},
	"snapshots/analysis/grouped":   {}, // sums by key
	"snapshots/analysis/ledger":    {},
	"snapshots/analysis/host":      {"snapshots/analysis/leak", "snapshots/analysis/ledger", "snapshots/quantity", "snapshots/trace"},
	"snapshots/analysis/card":      {"snapshots/analysis/grouped", "snapshots/analysis/ledger", "snapshots/quantity", "snapshots/trace"},
	"snapshots/analysis/lines":     {"snapshots/trace"},
	"snapshots/analysis/whatif":    {"snapshots/quantity", "snapshots/trace"},
	"snapshots/analysis/traits":    {"snapshots/analysis/lines", "snapshots/trace"},
	"snapshots/analysis/savings":   {"snapshots/analysis/lines", "snapshots/analysis/traits", "snapshots/quantity", "snapshots/trace"},
	"snapshots/analysis/iteration": {"snapshots/analysis/lines", "snapshots/trace"},
	"snapshots/analysis/category":  {"snapshots/analysis/traits", "snapshots/trace"},
	"snapshots/analysis": {
		"snapshots/analysis/grouped", "snapshots/analysis/savings", "snapshots/analysis/card", "snapshots/analysis/category", "snapshots/analysis/host", "snapshots/analysis/leak", "snapshots/analysis/lines",
		"snapshots/analysis/iteration", "snapshots/analysis/whatif", "snapshots/quantity", "snapshots/trace",
	},
	"snapshots/analysis/difference": {"snapshots/analysis", "snapshots/analysis/grouped", "snapshots/analysis/lines", "snapshots/analysis/traits", "snapshots/quantity", "snapshots/trace"},
	"snapshots/analysis/growing":    {},
	"snapshots/analysis/ranks":      {"snapshots/analysis", "snapshots/quantity", "snapshots/trace"},
	"snapshots/analysis/proposals":  {"snapshots/analysis", "snapshots/quantity", "snapshots/trace"},
	"snapshots/report":              {"snapshots/analysis/...", "snapshots/quantity", "snapshots/trace", "github.com/charmbracelet/x/ansi"},
	"snapshots/pickle":              {}, // names of opcodes
	"snapshots/pytorch":             {"snapshots/pickle", "snapshots/trace"},
	"snapshots/wire":                {"snapshots/pytorch", "snapshots/trace", "snapshots/cause"},
	"snapshots/blackbox":            {"snapshots/wire", "snapshots/trace", "snapshots/cause"},
	"snapshots":                     {"snapshots/blackbox", "snapshots/hostmemory", "snapshots/pytorch", "snapshots/trace", "snapshots/wire", "github.com/klauspost/compress/..."},
	"snapshots/export": {
		"snapshots/report", "snapshots/analysis", "snapshots/analysis/grouped", "snapshots/analysis/lines", "snapshots/quantity", "snapshots/trace", "github.com/google/pprof/profile",
	},
	"tui/...": {
		"tui/...", "snapshots/analysis/...", "snapshots/quantity", "snapshots/trace",
		"charm.land/...", "github.com/charmbracelet/...",
	},
	"probe/exposition": {"snapshots/trace"},
	// What is watched, what watches, and what both agree on.
	"probe/protocol": {"probe/exposition", "snapshots/blackbox", "snapshots/quantity", "snapshots/wire", "snapshots/trace", "golang.org/x/sys/..."},
	"probe/survey":   {"snapshots/trace"},
	"probe": {
		"probe/protocol", "probe/survey", "probe/exposition", "snapshots/blackbox", "snapshots/mapped", "snapshots/procfs", "snapshots/wire", "snapshots/pytorch", "snapshots/trace", "snapshots/cause",
		"golang.org/x/sys/...",
	},
	"probe/attach": {
		"probe/protocol", "snapshots/procfs", "snapshots/wire", "snapshots/pytorch", "snapshots/trace", "snapshots/cause", "golang.org/x/sys/...",
	},
	"probe/job":        {"probe/attach", "probe/protocol", "snapshots/analysis/ranks", "snapshots/trace"},
	"probe/remote":     {"probe/attach", "probe/protocol", "snapshots/trace", "snapshots/wire"},
	"probe/python":     {"probe/protocol", "golang.org/x/sys/..."},
	"probe/hostledger": {"snapshots/hostmemory", "snapshots/procfs", "snapshots/trace", "golang.org/x/sys/..."},
	"probe/sensor":     {"probe", "probe/hostledger", "probe/protocol", "probe/survey", "snapshots/hostmemory", "snapshots/launcher", "snapshots/procfs", "snapshots/trace", "golang.org/x/sys/..."},
	"probe/inject":     {"probe/attach", "probe/protocol", "probe/python", "probe/sensor", "snapshots/procfs", "snapshots/trace", "golang.org/x/sys/..."},
	"probe/conformance": {
		"probe/attach", "probe/protocol", "snapshots/wire", "snapshots/pytorch", "snapshots/trace",
	},
	// The engine and the probe joined, for programs that train.
	"probe/engine": {"engine/alloc", "engine/device", "engine/device/cpu", "engine/tensor", "engine/train", "probe", "snapshots/trace"},
	// What a reader begins with: nothing but what anyone may import.
	"examples/...": {"engine/...", "probe/engine"},
	"probe/collector": {
		"probe/attach", "probe/protocol", "probe/exposition", "snapshots/analysis", "snapshots/analysis/card", "snapshots/analysis/host", "snapshots/trace", "snapshots/wire",
	},
	// The engine: each package on those before it, and none on the probe.
	"engine/alloc":  {"snapshots/trace"},
	"engine/replay": {"engine/alloc", "engine/device/dry", "snapshots/analysis/whatif", "snapshots/quantity", "snapshots/trace"},
	"engine/choice": {},
	"engine/device/...": {
		"engine/device/...", "engine/alloc", "snapshots/trace", "github.com/ebitengine/purego", "github.com/klauspost/compress/zstd", "golang.org/x/sys/...",
	},
	"engine/tensor":              {"engine/collective", "engine/device/...", "engine/alloc", "snapshots/trace"},
	"engine/autograd":            {"engine/tensor", "engine/device", "engine/alloc", "snapshots/trace"},
	"engine/nn":                  {"engine/choice", "snapshots/quantity", "engine/autograd", "engine/tensor", "engine/device", "engine/alloc", "snapshots/trace"},
	"engine/amp":                 {"engine/choice", "engine/autograd", "engine/tensor", "engine/device", "engine/alloc", "snapshots/trace"},
	"engine/data":                {"engine/choice", "engine/device", "snapshots/mapped"},
	"engine/optim":               {"engine/choice", "engine/autograd", "engine/tensor", "engine/device", "engine/alloc", "snapshots/trace"},
	"engine/recompute":           {},
	"engine/weights":             {"snapshots/pickle", "engine/autograd", "engine/tensor", "engine/device"},
	"engine/collective":          {"engine/device"},
	"engine/collective/mpi":      {"engine/collective", "engine/device", "snapshots/launcher", "github.com/ebitengine/purego"},
	"engine/collective/nccl":     {"engine/collective", "engine/device", "engine/device/cuda", "snapshots/procfs", "github.com/ebitengine/purego", "golang.org/x/sys/..."},
	"engine/collective/torchrun": {},
	// An imitated GPU for PyTorch's CUDA build: tables and a library in C, none of the engine's.
	"engine/device/cuda/imitation": {"engine/device/cuda/prebuilt"},
	// Who takes memory of the driver: a library in C that programs load.
	"engine/device/cuda/callers":  {"engine/device/cuda/prebuilt"},
	"engine/device/cuda/prebuilt": {"github.com/klauspost/compress/..."},
	"engine/train": {
		"engine/collective",
		"engine/choice", "engine/recompute", "engine/amp", "engine/optim", "engine/nn/...", "engine/data", "engine/autograd", "engine/tensor", "engine/device",
		"engine/device/dry", "engine/alloc",
		"snapshots/quantity", "snapshots/trace",
	},

	// What the driver knows of the devices; its types stop in one file.
	"probe/gauge": {"snapshots/hostmemory", "snapshots/procfs", "snapshots/trace", "github.com/NVIDIA/go-nvml/..."},

	"cmd":         {},
	"cmd/command": {"snapshots/cause", "snapshots/quantity", "snapshots/trace", "github.com/spf13/pflag"},
	"cmd/output":  {"snapshots/procfs", "golang.org/x/sys/..."},
	"cmd/memtop": {
		"cmd/command", "cmd/output", "cmd/memtop/assistant", "cmd/memtop/manual", "cmd/memtop/rehearse", "snapshots/cause", "cmd/memtrain/program", "engine/device/cuda/callers", "engine/device/cuda/imitation", "engine/replay", "tui", "probe/attach", "probe/inject", "probe/job", "probe/protocol", "probe/python", "probe/remote", "probe/sensor",
		"probe/collector", "probe/conformance", "probe/exposition", "probe/gauge", "snapshots", "snapshots/procfs", "snapshots/analysis", "snapshots/analysis/proposals", "snapshots/analysis/ranks", "snapshots/analysis/whatif", "snapshots/quantity",
		"snapshots/report", "snapshots/export", "snapshots/pytorch", "snapshots/trace", "snapshots/wire",
		"charm.land/bubbletea/v2", "github.com/spf13/cobra", "github.com/spf13/pflag",
		"github.com/charmbracelet/colorprofile", "github.com/charmbracelet/x/ansi", "github.com/charmbracelet/x/term",
	},
	"cmd/memtop/assistant": {"cmd/command", "snapshots", "snapshots/trace", "github.com/modelcontextprotocol/go-sdk/..."},
	// A command of PyTorch's on an imitated GPU: the only package that joins the two.
	"cmd/memtop/rehearse": {
		"cmd/command", "cmd/output", "engine/device/cuda/imitation", "engine/replay", "probe/protocol", "probe/python", "probe/sensor",
		"snapshots/analysis/growing", "snapshots/procfs", "snapshots/quantity", "snapshots/report",
	},
	// What trains on a GPU; memtop, which trains for its demo only, must not link it.
	"cmd/memtrain": {
		"cmd/memtrain/program", "engine/collective", "engine/collective/mpi", "engine/collective/nccl", "engine/collective/torchrun", "engine/device/cuda", "snapshots/launcher",
	},
	"cmd/memtrain/program": {
		"cmd/command", "cmd/output", "engine/...", "probe", "probe/engine", "snapshots/hostmemory", "snapshots/launcher", "snapshots/pytorch", "snapshots/quantity", "snapshots/trace",
		"github.com/charmbracelet/x/term", "github.com/spf13/cobra", "github.com/spf13/pflag",
	},
	"cmd/memtop/manual": {"github.com/spf13/cobra", "github.com/spf13/pflag"},
}

type goPackage struct {
	ImportPath, Dir, Name     string
	Imports                   []string
	TestGoFiles, XTestGoFiles []string
	TestImports, XTestImports []string
}

func TestImportsFollowThePicture(t *testing.T) {
	for _, p := range listPackages(t, module+"/...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if matches("cmd/tools/...", name) || matches("cmd/testing/...", name) {
			continue
		}
		allowed, ok := picture[entryFor(name)]
		if !ok {
			t.Errorf("package %s is not in the picture: say in docs/architecture.md and here what it is for", name)
			continue
		}
		for _, imported := range p.Imports {
			if !standard(imported) && !mayImport(allowed, strings.TrimPrefix(imported, module+"/")) {
				t.Errorf("package %s imports %s, which the picture does not allow", name, imported)
			}
		}
	}
}

// TestToolsAndWhatOnlyTestsImportLieInOnePlaceEach makes `git ls-files` show what the
// product is: all but cmd/tools and cmd/testing.
func TestToolsAndWhatOnlyTestsImportLieInOnePlaceEach(t *testing.T) {
	packages := listPackages(t, module+"/...")
	imported := make(map[string]bool)
	for _, p := range packages {
		if strings.HasPrefix(p.ImportPath, module+"/cmd/testing/") {
			continue
		}
		for _, i := range p.Imports {
			imported[i] = true
		}
	}
	places := []string{"cmd/memtop", "cmd/memtrain", "cmd/tools/...", "cmd/testing/...", "examples/..."}
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		placed := slices.ContainsFunc(places, func(place string) bool { return matches(place, name) })
		switch {
		case p.Name == "main" && !placed:
			t.Errorf("%s is a program that only developers run: it belongs into cmd/tools", name)
		case p.Name != "main" && !imported[p.ImportPath] && !placed && name != "cmd":
			t.Errorf("only tests import %s: it belongs into cmd/testing", name)
		}
	}
}

// entryFor returns the key of the picture that a package falls under.
func entryFor(name string) string {
	if _, ok := picture[name]; ok {
		return name
	}
	for key := range picture {
		if strings.HasSuffix(key, "/...") && matches(key, name) {
			return key
		}
	}
	return name
}

func mayImport(allowed []string, name string) bool {
	return slices.ContainsFunc(allowed, func(pattern string) bool { return matches(pattern, name) })
}

func matches(pattern, name string) bool {
	prefix, below := strings.CutSuffix(pattern, "/...")
	return name == prefix || below && strings.HasPrefix(name, prefix+"/")
}

// standard tells the standard library from other modules by the dot that a
// module's first path element has.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// TestAWatchedProgramCompilesNoViewer asks for all that a program compiles when it
// makes the one call, however far away it is imported.
func TestAWatchedProgramCompilesNoViewer(t *testing.T) {
	for _, name := range []string{"probe", "examples/spirals", "cmd/memtrain/program"} {
		for _, p := range listPackages(t, "-deps", module+"/"+name) {
			switch strings.TrimPrefix(p.ImportPath, module+"/") {
			case "probe/attach", "probe/collector", "tui", "snapshots/analysis":
				t.Errorf("%s compiles %s", name, p.ImportPath)
			}
		}
	}
}

// TestProgramsOfTestsLeaveNoBlackBoxes: a package whose tests have a program with a probe
// says so in its TestMain. What a box needs is known where programs are made.
func TestProgramsOfTestsLeaveNoBlackBoxes(t *testing.T) {
	makes := []string{module + "/probe", module + "/probe/engine", module + "/cmd/memtrain/program"}
	for _, p := range listPackages(t, module+"/...") {
		all := slices.Concat([]string{p.ImportPath}, p.Imports, p.TestImports, p.XTestImports)
		tests := slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		made := slices.ContainsFunc(all, func(path string) bool { return slices.Contains(makes, path) })
		says := slices.ContainsFunc(tests, func(name string) bool {
			source, err := os.ReadFile(filepath.Join(p.Dir, name))
			return err == nil && bytes.Contains(source, []byte("probetest.WithoutBoxes()"))
		})
		if made && !says && len(tests) > 0 {
			t.Errorf("%s has programs with a probe and no TestMain that calls probetest.WithoutBoxes", p.ImportPath)
		}
	}
}

// listPackages returns what go list says of some packages.
func listPackages(t *testing.T, arguments ...string) []goPackage {
	t.Helper()
	arguments = append([]string{"list", "-json=ImportPath,Dir,Name,Imports,TestGoFiles,XTestGoFiles,TestImports,XTestImports"}, arguments...)
	command := exec.CommandContext(t.Context(), "go", arguments...)
	out, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		packages = append(packages, p)
	}
}

// largest is how many bytes a file of the project has at most: what is larger was built.
const largest = 1 << 20

func TestNothingThatWasBuiltIsInTheProject(t *testing.T) {
	if _, err := os.Stat("../.git"); err != nil {
		t.Skip("this is no clone of the project")
	}
	listed, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("git does not list the project's files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join("..", name)); err == nil && info.Size() > largest {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
}

// TestFilesOfProcAreReadWithinABound is about files whose length another process decides:
// package procfs bounds each read.
func TestFilesOfProcAreReadWithinABound(t *testing.T) {
	for _, product := range []string{"command", "memtop", "memtrain", "output", "../engine", "../probe", "../snapshots"} {
		err := fs.WalkDir(os.DirFS(product), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := os.ReadFile(filepath.Join(product, name))
			code := string(text)
			if (strings.Contains(code, `"/proc`) || strings.Contains(code, "procfs.")) && (strings.Contains(code, "os.ReadFile(") || strings.Contains(code, "fs.ReadFile(")) {
				t.Errorf("%s/%s reads files of /proc, and some file without a bound", product, name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
