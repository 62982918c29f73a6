package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

// TestRehearsedLibraries runs programs that use libraries of PyTorch, for each that is there: those of the interpreter,
// and with make rehearse-packages those of a folder.
func TestRehearsedLibraries(t *testing.T) {
	python := cudaPython(t)
	torchrun := []string{"-m", "torch.distributed.run", "--nproc-per-node", "2"}
	for name, p := range map[string]struct {
		script, needs string // packages, by spaces
		flags         []string
		launcher      []string // words between the interpreter and the script
		words         []string // of the script
		bound         []string // any of these
	}{
		"accelerate":           {script: "accelerated", needs: "accelerate", bound: []string{"exact"}},
		"bitsandbytes":         {script: "qlora", needs: "bitsandbytes peft transformers", bound: []string{"exact", "branches"}},
		"deepspeed zero 2":     {script: "zero", needs: "deepspeed", flags: []string{"--gpus", "2"}, launcher: torchrun, words: []string{"--stage", "2"}},
		"deepspeed zero 3":     {script: "zero", needs: "deepspeed", flags: []string{"--gpus", "2"}, launcher: torchrun, words: []string{"--stage", "3"}},
		"a rank of zero 3":     {script: "zero", needs: "deepspeed", flags: []string{"--world", "64", "--rank", "63"}, words: []string{"--stage", "3"}},
		"agents by dqn":        {script: "agent", needs: "stable_baselines3", words: []string{"dqn"}},
		"agents by ppo":        {script: "agent", needs: "stable_baselines3", words: []string{"ppo"}},
		"diffusers' ddpm":      {script: "ddpm", needs: "diffusers"},
		"fabric and metrics":   {script: "fabric", needs: "lightning torchmetrics"},
		"faster r-cnn":         {script: "detectors", needs: "torchvision", words: []string{"fasterrcnn_resnet50_fpn"}, bound: []string{"lower"}},
		"graphs":               {script: "graph_network", needs: "torch_geometric"},
		"mask r-cnn":           {script: "detectors", needs: "torchvision", words: []string{"maskrcnn_resnet50_fpn"}, bound: []string{"lower"}},
		"qwen's experts":       {script: "qwen_moe", needs: "transformers accelerate", bound: []string{"exact", "branches"}},
		"retinanet":            {script: "detectors", needs: "torchvision", words: []string{"retinanet_resnet50_fpn"}, bound: []string{"lower"}},
		"sentences":            {script: "sentences", needs: "sentence_transformers datasets"},
		"seq2seq":              {script: "seq2seq", needs: "transformers accelerate", bound: []string{"exact", "branches"}},
		"ssd":                  {script: "detectors", needs: "torchvision", words: []string{"ssd300_vgg16"}, bound: []string{"lower"}},
		"torchaudio":           {script: "recognizer", needs: "torchaudio", bound: []string{"modelled"}},
		"ultralytics trains":   {script: "squares", needs: "ultralytics torchvision", words: []string{"detect", "train", "epochs=2"}, bound: []string{"lower"}},
		"ultralytics' val":     {script: "squares", needs: "ultralytics torchvision", words: []string{"detect", "val"}, bound: []string{"lower"}},
		"vit":                  {script: "pictures", needs: "transformers accelerate"},
		"whisper":              {script: "speech", needs: "transformers"},
		"detection":            {script: "detection", needs: "torchvision", flags: []string{"--values", "upper"}, bound: []string{"upper"}},
		"diffusers":            {script: "unet", needs: "diffusers", bound: []string{"modelled"}},
		"generate":             {script: "generate", needs: "transformers"},
		"lightning":            {script: "lightning_fit", needs: "lightning"},
		"mixture of experts":   {script: "moe", needs: "transformers", bound: []string{"exact", "branches", "lower"}},
		"peft":                 {script: "lora", needs: "peft transformers", bound: []string{"exact", "branches"}},
		"timm":                 {script: "images", needs: "timm", bound: []string{"modelled"}},
		"timm's transformer":   {script: "images", needs: "timm", words: []string{"vit_base_patch16_224"}, bound: []string{"modelled"}},
		"transformers":         {script: "trainer", needs: "transformers accelerate"},
		"transformers and trl": {script: "sft", needs: "trl datasets tokenizers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HF_HUB_OFFLINE", "1")
			t.Setenv("YOLO_CONFIG_DIR", t.TempDir())
			need(t, python, strings.Fields(p.needs))
			path := filepath.Join("../../engine/device/cuda/imitation/testdata/programs", p.script+".py")
			words := append(append(append(append(p.flags, "--", python), p.launcher...), path), p.words...)
			r := rehearseWith(t, words...)
			if r.code != 0 || !r.Fits || len(r.Ranks) == 0 || len(r.NotImitated) > 0 {
				t.Errorf("code %d, %d ranks, not imitated: %v, %s", r.code, len(r.Ranks), r.NotImitated, r.stderr)
			}
			if most := r.Most(); most != nil {
				t.Logf("%d and %d bytes allocated and reserved, %.1f s, %d ranks, %s, %v", most.PeakAllocated, most.PeakReserved, r.Seconds, len(r.Ranks), r.Bound, r.Because)
			}
			if len(p.bound) > 0 && !strings.Contains(" "+strings.Join(p.bound, " ")+" ", " "+r.Bound+" ") {
				t.Errorf("its sizes are %q, not of %v: %v", r.Bound, p.bound, r.DependsOnData)
			}
		})
	}
}

// need skips a test where a package is not there.
func need(t *testing.T, python string, packages []string) {
	t.Helper()
	for _, name := range packages {
		if exec.CommandContext(t.Context(), python, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None)", name).Run() != nil { //nolint:gosec // the names are above
			t.Skipf("%s has no %s", python, name)
		}
	}
}

// publishedFolder holds the published measurements and the scripts that repeat
// them.
const publishedFolder = "../../engine/device/cuda/imitation/testdata/published"

// figure is a published measurement, a row of figures.tsv.
type figure struct {
	what      string
	published float64
	unit      string
	measure   string   // the name under which the script prints it
	pytorch   string   // the release that was measured, without its patch
	gpu       string   // of the catalogue
	command   []string // the script and its arguments
	source    string   // as README.md has it
	cause     string   // why it differs by more than publishedTolerance, empty if it does not
}

// publishedTolerance is the part by which a rehearsal may differ from what was published.
const publishedTolerance = 0.03

// publishedUnits are the units of publications, in bytes.
var publishedUnits = map[string]float64{"MB": 1e6, "GB": 1e9, "GiB": 1 << 30}

// differsBy returns the difference between a number of bytes and the published
// number, as a fraction of the latter.
func (f *figure) differsBy(measured int64) float64 {
	return float64(measured)/publishedUnits[f.unit]/f.published - 1
}

// readFigures returns the published measurements.
func readFigures(t *testing.T) (list []figure) {
	t.Helper()
	data := fatal.Read(t, filepath.Join(publishedFolder, "figures.tsv"))
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 9 {
			t.Fatalf("%d cells in %q, want 9", len(cells), line)
		}
		published, err := strconv.ParseFloat(cells[1], 64)
		fatal.If(t, err)
		list = append(list, figure{cells[0], published, cells[2], cells[3], cells[4], cells[5], strings.Fields(cells[6]), cells[7], cells[8]})
	}
	return list
}

// TestPublishedMeasurementsAreWhole has every row lead to a script, unless it is said why it
// was not rehearsed, a GPU and a source, and
// at least ten of several sources say that they are met.
func TestPublishedMeasurementsAreWhole(t *testing.T) {
	readme := fatal.Read(t, filepath.Join(publishedFolder, "README.md"))
	met, sources := 0, make(map[string]bool)
	for _, f := range readFigures(t) {
		if _, err := os.Stat(filepath.Join(publishedFolder, f.command[0])); err != nil && !strings.HasPrefix(f.cause, notRehearsed) {
			t.Errorf("%s: %v", f.what, err)
		}
		if _, found := imitation.Find(f.gpu); !found || f.published <= 0 || publishedUnits[f.unit] == 0 || f.measure == "" {
			t.Errorf("%s: not whole: %+v", f.what, f)
		}
		if !strings.Contains(string(readme), "\n| "+f.source+" | ") {
			t.Errorf("%s: README.md has no source %q", f.what, f.source)
		}
		if f.cause == "" {
			met++
			sources[f.source] = true
		}
	}
	if met < 10 || len(sources) < 3 {
		t.Errorf("%d of %d sources are met, want ten of three", met, len(sources))
	}
}

// TestRehearsedMeasurementsThatWerePublished rehearses what was measured with the release
// of PyTorch that is here, and prints by how much it differs. MEMTOP_PUBLISHED=all has it
// rehearseWith all of that; else it takes one row, which is small.
func TestRehearsedMeasurementsThatWerePublished(t *testing.T) {
	python, release := releaseOfPyTorch(t)
	all := os.Getenv("MEMTOP_PUBLISHED") == "all"
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "measured\tpublished\trehearsed\tdifference\tPyTorch %s\n", release)
	compared := 0
	for _, group := range byRun(readFigures(t)) {
		name := strings.Join(group[0].command, " ")
		if all && !strings.HasPrefix(release, group[0].pytorch+".") || !all && name != smallPublished {
			continue
		}
		if strings.HasPrefix(group[0].cause, notRehearsed) {
			t.Logf("%s: %s", group[0].what, group[0].cause)
			continue
		}
		t.Run(name, func(t *testing.T) {
			compared += compare(t, w, python, group)
		})
	}
	if compared == 0 {
		t.Skipf("nothing was published of PyTorch %s, or its libraries are missing", release)
	}
	_ = w.Flush() // it writes to memory
	t.Logf("\n%s", table.String())
}

// notRehearsed begins the cause of a row whose program does not run on the imitation.
const notRehearsed = "not rehearsed: "

// smallPublished takes little, and differs little between releases.
const smallPublished = "checkpoints.py"

// releaseOfPyTorch returns an interpreter and the release of its PyTorch, which need not
// have NVIDIA's packages.
func releaseOfPyTorch(t *testing.T) (python, release string) {
	t.Helper()
	if testing.Short() {
		t.Skip("importing PyTorch takes seconds each time")
	}
	python = torchPython(t)
	said, err := exec.CommandContext(t.Context(), python, "-c", "from importlib.metadata import version; print(version('torch'))").Output()
	fatal.If(t, err)
	return python, strings.TrimSpace(string(said))
}

// byRun puts those together that one run of a script measures.
func byRun(list []figure) (groups [][]figure) {
	for _, f := range list {
		at := slices.IndexFunc(groups, func(g []figure) bool { return slices.Equal(g[0].command, f.command) })
		if at < 0 {
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], f)
	}
	return groups
}

// compare rehearses a script, writes a line for each of its figures, and returns how many
// they are.
func compare(t *testing.T, table *tabwriter.Writer, python string, group []figure) int {
	t.Helper()
	first := group[0]
	script := filepath.Join(publishedFolder, first.command[0])
	r := rehearseWith(t, append([]string{"--gpu", first.gpu, "--no-advice", "--steps", "1000000", "--", python, script}, first.command[1:]...)...)
	switch {
	case strings.Contains(r.stderr, "ModuleNotFoundError"):
		t.Skipf("a library is missing: %s", missing(r.stderr))
	case r.PyTorch == "" && strings.Contains(r.stderr, "without CUDA"):
		t.Skip("this PyTorch is a build without CUDA")
	case r.code != 0 || !r.Fits:
		t.Fatalf("code %d, %s", r.code, r.stderr)
	}
	for _, f := range group {
		measured, found := measuredBy(r.stderr, f.measure)
		if !found {
			t.Errorf("the script measures no %s: %s", f.measure, r.stderr)
			continue
		}
		off := f.differsBy(measured)
		fmt.Fprintf(table, "%s\t%g %s\t%.4f\t%+.2f %%\t%s\n", f.what, f.published, f.unit, float64(measured)/publishedUnits[f.unit], 100*off, f.cause)
		if met := math.Abs(off) <= publishedTolerance; met != (f.cause == "") {
			t.Errorf("%s differs by %+.2f %%, and the cause in figures.tsv is %q", f.what, 100*off, f.cause)
		}
	}
	return len(group)
}

// measuredBy returns what a script says that it has measured.
func measuredBy(output, name string) (bytes int64, found bool) {
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "measured" && words[1] == name {
			bytes, err := strconv.ParseInt(words[2], 10, 64)
			return bytes, err == nil
		}
	}
	return 0, false
}

// missing returns the line that says which library is.
func missing(output string) string {
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "ModuleNotFoundError") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
