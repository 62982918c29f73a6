package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// rehearsed is how a rehearsal ended.
type rehearsed struct {
	report.Rehearsal
	Vary *report.Vary   `json:"vary"`
	On   []*report.Vary `json:"on"`

	code   int
	stderr string
}

// cudaPython returns an interpreter with PyTorch's CUDA build, or skips the test. All tests
// of rehearsals take minutes, so `go test` alone runs the first of them only.
func cudaPython(t *testing.T) string {
	t.Helper()
	if os.Getenv("MEMTOP_REHEARSALS") == "" {
		t.Skip("MEMTOP_REHEARSALS is not set: make rehearsals")
	}
	return anyCUDAPython(t)
}

// besideOthers is cudaPython for a test that runs beside others: it has no launcher, all of
// which listen on one port.
func besideOthers(t *testing.T) string {
	t.Helper()
	t.Parallel()
	return cudaPython(t)
}

func anyCUDAPython(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("importing PyTorch takes seconds each time")
	}
	python := torchPython(t)
	const version = `import importlib.util as u, runpy; assert runpy.run_path(u.find_spec("torch").submodule_search_locations[0] + "/version.py")["cuda"]`
	if err := exec.CommandContext(t.Context(), python, "-c", version).Run(); err != nil { // without NVIDIA's packages it cannot be imported
		t.Skipf("the PyTorch of %s is a build without CUDA", python)
	}
	return python
}

// rehearseWith runs memtop rehearse --json.
func rehearseWith(t *testing.T, arguments ...string) rehearsed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "memtop", append([]string{"rehearse", "--json"}, arguments...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "OMP_NUM_THREADS=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	r := rehearsed{code: cmd.ProcessState.ExitCode(), stderr: stderr.String()}
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
			t.Fatalf("%v in %q, with %s", err, stdout.String(), r.stderr)
		}
	}
	return r
}

const smallGPT = "testdata/rehearse/gpt.py"

func TestARehearsedProgramThatFits(t *testing.T) {
	python := anyCUDAPython(t)
	folder := t.TempDir()
	snapshot, weights := filepath.Join(folder, "plan.pickle"), filepath.Join(folder, "weights.pt")
	r := rehearseWith(t, "-o", snapshot, "--", python, smallGPT, "--save", weights)
	if r.code != 0 || !r.Fits || len(r.Ranks) != 1 {
		t.Fatalf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
	on := r.Ranks[0]
	if on.Steps < 4 || on.Steps > 8 || r.Ended != "settled" {
		t.Errorf("it ended after %d steps: %s", on.Steps, r.Ended)
	}
	if on.PeakAllocated <= 0 || on.PeakReserved < on.PeakAllocated || on.DeviceBytes != on.PeakReserved+r.GPU.Context {
		t.Errorf("allocated %d, reserved %d, on the device %d", on.PeakAllocated, on.PeakReserved, on.DeviceBytes)
	}
	if len(on.TopLinesAtPeak) == 0 || !strings.Contains(on.TopLinesAtPeak[0].Line, "gpt.py:") {
		t.Errorf("the lines at the peak are %+v", on.TopLinesAtPeak)
	}
	if _, err := os.Stat(weights); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("weights were saved that were never computed: %v", err)
	}
	if got := report.New(onfile.Trace(t, snapshot)).Devices[0].PeakReserved; got != on.PeakReserved {
		t.Errorf("the snapshot's peak of reserved memory is %d, want %d", got, on.PeakReserved)
	}
}

// TestAProgramSaysTheSameOfItself has the program print its own peaks at its end.
func TestARehearsedProgramSaysTheSameOfItself(t *testing.T) {
	python := besideOthers(t)
	r := rehearseWith(t, "--steps", "100", "--", python, smallGPT, "--steps", "2")
	if r.code != 0 || r.Ended != "exit" || len(r.Ranks) != 1 {
		t.Fatalf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
	var allocated, reserved int64
	_, said, _ := strings.Cut(r.stderr, "peaks ") // PyTorch may warn before, as where there is no NumPy
	if _, err := fmt.Sscanf("peaks "+said, "peaks %d %d", &allocated, &reserved); err != nil {
		t.Fatalf("%v in %q", err, r.stderr)
	}
	if on := r.Ranks[0]; on.PeakAllocated != allocated || on.PeakReserved != reserved {
		t.Errorf("got %d and %d, and the program says %d and %d", on.PeakAllocated, on.PeakReserved, allocated, reserved)
	}
}

func TestARehearsedProgramThatDoesNotFit(t *testing.T) {
	python := anyCUDAPython(t)
	r := rehearseWith(t, "--no-advice", "--memory", "1GiB", "--", python, smallGPT, "--batch", "64")
	if r.code != 11 || r.Fits || len(r.Ranks) != 1 || r.Ranks[0].OOM == nil {
		t.Fatalf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
	oom := r.Ranks[0].OOM
	if !strings.Contains(oom.AskedBy, "gpt.py:") || oom.Short == nil || *oom.Short <= 0 || len(oom.Holders) == 0 {
		t.Errorf("the shortage is %+v", oom)
	}
	if !strings.Contains(r.stderr, "torch.OutOfMemoryError: CUDA out of memory.") || strings.Contains(r.stderr, "memtop open") {
		t.Errorf("the program says %s", r.stderr)
	}
}

// TestARehearsedProgramThatSharesItsGPU has two processes with a GiB each.
func TestARehearsedProgramThatSharesItsGPU(t *testing.T) {
	python := besideOthers(t)
	path := filepath.Join(t.TempDir(), "shares.py")
	const script = `import subprocess, sys, torch
x = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
if len(sys.argv) < 2:
    sys.exit(subprocess.call([sys.executable, __file__, "second"]))
`
	fatal.If(t, os.WriteFile(path, []byte(script), 0o600))
	if r := rehearseWith(t, "--no-advice", "--memory", "3GiB", "--", python, path); r.code != 11 || r.Fits {
		t.Errorf("of 3 GiB: code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
	r := rehearseWith(t, "--memory", "4GiB", "--", python, path)
	if most := r.Most(); r.code != 0 || r.Bound != report.BoundTiming || most == nil || most.Together != 2<<30+2*r.GPU.Context {
		t.Errorf("of 4 GiB: code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
}

// TestTheSnapshotOfARehearsalThatDoesNotFit is of the run that did not, and advice is given beside it.
func TestTheSnapshotOfARehearsalThatDoesNotFit(t *testing.T) {
	python := besideOthers(t)
	snapshot := filepath.Join(t.TempDir(), "it.pickle")
	r := rehearseWith(t, "-o", snapshot, "--memory", "1GiB", "--", python, smallGPT, "--batch", "64")
	if r.code != 11 || len(r.Ranks) != 1 || r.Ranks[0].OOM == nil || r.Ranks[0].OOM.Needs == nil || len(r.FitsOn) == 0 {
		t.Fatalf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
	if got := report.New(onfile.Trace(t, snapshot)).Devices[0].PeakReserved; got > 1<<30 {
		t.Errorf("the snapshot's peak is %d, more than the device has", got)
	}
}

func TestARehearsedProgramsOwnFailureIsItsOwn(t *testing.T) {
	python := besideOthers(t)
	for name, test := range map[string]struct {
		code  int
		text  string
		words []string
	}{
		"an exception":               {1, "ended with exit code 1 for a reason of its own", []string{"-c", "import torch; torch.ones(1).cuda(); 1 / 0"}},
		"an exit code":               {5, "ended with exit code 5", []string{"-c", "import torch; raise SystemExit(5)"}},
		"no use of the device":       {0, "", []string{"-c", "import torch; torch.ones(1)"}},
		"a failure before its use":   {1, "No module named 'not_there'", []string{"-c", "import torch, not_there"}},
		"a framed one":               {1, "RuntimeError: it broke", []string{"-c", "import torch; raise RuntimeError('====\\nit broke')"}},
		"killed":                     {137, "the kernel may have killed it for lack of this machine's memory", []string{"-c", "import os, torch; torch.ones(1).cuda(); os.kill(os.getpid(), 9)"}},
		"one that the imitation has": {1, "", []string{"-c", "import torch; torch.ones(1).cuda().device_that_is_not()"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := rehearseWith(t, append([]string{"--", python}, test.words...)...)
			if r.code != test.code || !r.Fits || !strings.Contains(r.Error+r.stderr, test.text) {
				t.Errorf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
			}
		})
	}
}

// TestARehearsedProgramThatCatchesItsShortage has programs that catch it, of which one trains with less afterwards.
func TestARehearsedProgramThatCatchesItsShortage(t *testing.T) {
	python := besideOthers(t)
	const caught = "import torch\ntry: torch.empty(1 << 50, device='cuda')\nexcept torch.OutOfMemoryError: pass\n"
	const trains = "o = torch.optim.SGD([torch.ones(9, device='cuda', requires_grad=True)])\nfor _ in range(2): o.step()"
	for name, test := range map[string]struct {
		code  int
		flags []string
		text  string
	}{
		"and ends":                     {11, nil, caught},
		"and ends, as the user wants":  {0, []string{"--caught", "fits"}, caught},
		"and trains":                   {0, nil, caught + trains},
		"and trains, but not any more": {11, nil, caught + trains + "\n" + caught},
	} {
		t.Run(name, func(t *testing.T) {
			r := rehearseWith(t, append(append(test.flags, "--no-advice", "--", python, "-c"), test.text)...)
			if r.code != test.code || len(r.Ranks) != 1 {
				t.Fatalf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
			}
			on := r.Ranks[0]
			if r.Fits != (on.OOM == nil) || r.Fits != (on.Caught != nil) {
				t.Errorf("it fits: %t, for lack of %+v, of which is caught %+v", r.Fits, on.OOM, on.Caught)
			}
		})
	}
}

func TestARehearsalOfAProgramThatRecordsItselfRunsToItsEnd(t *testing.T) {
	python := besideOthers(t)
	const program = "import torch\ntorch.cuda.memory._record_memory_history()\n" +
		"o = torch.optim.SGD([torch.ones(9, device='cuda', requires_grad=True)])\nfor _ in range(20): o.step()\n" +
		"x = torch.empty(1 << 28, device='cuda')\ndel x\ntorch.cuda.memory._record_memory_history(None)\ny = torch.empty(9, device='cuda')"
	r := rehearseWith(t, "--", python, "-c", program)
	if r.code != 0 || r.Ended != "exit" || r.NotRun != "" || len(r.Ranks) != 1 {
		t.Fatalf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
	if lines := r.Ranks[0].TopLinesAtPeak; len(lines) == 0 || lines[0].Bytes != 1<<30 {
		t.Errorf("at the peak, before the recording stopped, are %+v", lines)
	}
}

// TestARehearsedProgramsOwnObjectsSayWhatItsMemoryIsFor has a program without a module, whose gradients no stack tells
// from what backward takes for a moment.
func TestARehearsedProgramsOwnObjectsSayWhatItsMemoryIsFor(t *testing.T) {
	python := besideOthers(t)
	const program = `import torch
table = torch.nn.Parameter(torch.empty(3 << 18, device="cuda"))
kept = torch.optim.Adam([table], foreach=True)
for _ in range(5):
    LOSS.backward()
    kept.step()
    kept.zero_grad()`
	for loss, want := range map[string][4]int64{
		"(table * 2).sum()": {3 << 20, 3 << 20, 9 << 20, 0}, // with what the step has for a moment
		"(table.view(-1, 512) @ torch.ones(512, 9, device='cuda')).sum()": {3 << 20, 3 << 20, 6 << 20, 32 << 20}, // in the backward pass
	} {
		r := rehearseWith(t, "--no-advice", "--gpu", "h100-80gb", "--", python, "-c", strings.Replace(program, "LOSS", loss, 1))
		if r.code != 0 || len(r.Ranks) != 1 {
			t.Fatalf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
		}
		at := r.Ranks[0].CategoriesAtPeak.Bytes
		if got := [4]int64{at[trace.Parameter], at[trace.Gradient], at[trace.Optimizer], at[trace.Workspace]}; got != want {
			t.Errorf("%s: parameters, gradients, the optimizer and workspaces have %d, want %d", loss, got, want)
		}
	}
}

func TestARehearsalEndsTheWorkersOfALoaderQuietly(t *testing.T) {
	python := besideOthers(t)
	script := filepath.Join(t.TempDir(), "loads.py")
	const program = `import torch
if __name__ == "__main__":
    o = torch.optim.SGD([torch.ones(9, device="cuda", requires_grad=True)])
    for x in torch.utils.data.DataLoader(torch.zeros(5000, 9), 1, num_workers=2):
        o.step()
`
	fatal.If(t, os.WriteFile(script, []byte(program), 0o600))
	r := rehearseWith(t, "--", python, script)
	if r.code != 0 || r.Ended != "settled" || !strings.HasPrefix(r.NotRun, "what follows") || strings.Contains(r.stderr, "Error") {
		t.Errorf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
}

// TestARehearsedProgramThatCrashesAfterItsEnd tells that from a crash in its midst. The exit code is that of both.
func TestARehearsedProgramThatCrashesAfterItsEnd(t *testing.T) {
	python := besideOthers(t)
	for script, ended := range map[string]string{
		"import atexit, os; atexit.register(os.abort); import torch; torch.ones(1).cuda()": report.Crashed,
		"import os, torch; torch.ones(1).cuda(); os.abort()":                               "",
	} {
		r := rehearseWith(t, "--", python, "-c", script)
		if r.code != 134 || !r.Fits || r.Ended != ended || len(r.Ranks) != 1 || r.Failed() != (ended == "") {
			t.Errorf("%s: code %d, %+v, %s", script, r.code, r.Rehearsal, r.stderr)
		}
	}
}

// TestARehearsedProgramThatIsNone are commands that have nothing to rehearse.
func TestARehearsedProgramThatIsNone(t *testing.T) {
	python := besideOthers(t)
	for name, test := range map[string]struct {
		code    int
		text    string
		command []string
	}{
		"it ends at once":         {1, "imported no PyTorch", []string{"/bin/true"}},
		"it fails at once":        {1, "ended with exit code 1, and imported no PyTorch", []string{"/bin/false"}},
		"Python without PyTorch":  {1, "imported no PyTorch", []string{python, "-c", "pass"}},
		"it fails at an import":   {1, "failed with exit code 1 before it imported PyTorch: ModuleNotFoundError: No module named 'not_there'", []string{python, "-c", "import not_there, torch"}},
		"a program that is not":   {3, "no_such_program", []string{"no_such_program"}},
		"a value of no line":      {2, "gpt.py:16=128", []string{"--set", "gpt.py=3", "--", python, "-c", "pass"}},
		"values that are neither": {2, "zeros or upper", []string{"--values", "ones", "--", python, "-c", "pass"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := rehearseWith(t, test.command...)
			if r.code != test.code || r.Schema != "" || !strings.Contains(r.stderr, test.text) {
				t.Errorf("code %d, %s", r.code, r.stderr)
			}
		})
	}
}

func TestTheLargestRehearsedBatchIsExact(t *testing.T) {
	python := besideOthers(t)
	r := rehearseWith(t, "--memory", "1536MiB", "--vary", "batch=1..64", "--", python, smallGPT, "--batch", "{batch}")
	if r.code != 0 || r.Vary == nil || r.Vary.Largest == nil {
		t.Fatalf("code %d, %s", r.code, r.stderr)
	}
	largest := *r.Vary.Largest
	if !r.Vary.Fits(largest) || largest < 8 || largest > 63 {
		t.Errorf("the largest is %d of %+v", largest, r.Vary.Runs)
	}
	next := rehearseWith(t, "--memory", "1536MiB", "--", python, smallGPT, "--batch", fmt.Sprint(largest+1))
	if next.code != 11 {
		t.Errorf("batch %d ends with code %d", largest+1, next.code)
	}
	if n := len(r.Vary.Runs); n > 9 {
		t.Errorf("it took %d runs, want at most 9", n)
	}
}

// TestARehearsedRemedyIsWhatTheChangedProgramTakes holds what is said of a program that does
// not fit against the program that was changed as was said.
func TestARehearsedRemedyIsWhatTheChangedProgramTakes(t *testing.T) {
	python := besideOthers(t)
	const memory = "1792MiB"
	r := rehearseWith(t, "--memory", memory, "--", python, smallGPT, "--batch", "64", "--autocast", "off")
	if r.code != 11 || len(r.Ranks) != 1 || r.Ranks[0].OOM == nil || r.Ranks[0].OOM.Needs == nil {
		t.Fatalf("code %d, %+v, %s", r.code, r.Rehearsal, r.stderr)
	}
	oom := r.Ranks[0].OOM
	within := func(what string, said int64, flags ...string) {
		t.Helper()
		changed := rehearseWith(t, append([]string{"--", python, smallGPT, "--batch", "64"}, flags...)...)
		if changed.code != 0 || len(changed.Ranks) != 1 {
			t.Fatalf("%s: code %d, %s", what, changed.code, changed.stderr)
		}
		if got := changed.Ranks[0].DeviceBytes; float64(max(got-said, said-got)) > 0.02*float64(got) {
			t.Errorf("%s: said %d, and the changed program takes %d", what, said, got)
		}
	}
	within("its need", *oom.Needs, "--autocast", "off")
	for i, flags := range [][]string{{"--autocast", "off", "--checkpoint"}, {"--autocast", "forward"}} {
		tried := r.Ranks[0].Tried[i]
		if tried.Refused != "" || tried.Saves <= 0 {
			t.Errorf("tried: %+v", tried)
		}
		within(tried.Change, tried.DeviceBytes, flags...)
	}
	for _, fit := range oom.WouldFit {
		if fit.Proof != "rehearsed" {
			t.Errorf("%+v is not rehearsed", fit)
		}
	}
}

// TestARehearsedBatchIsFoundForEachGPU has one on which a batch fits and one on which it does not.
func TestARehearsedBatchIsFoundForEachGPU(t *testing.T) {
	python := besideOthers(t)
	r := rehearseWith(t, "--memory", "1GiB", "--gpu", "t4,h100-80gb", "--vary", "batch=20,40", "--", python, smallGPT, "--batch", "{batch}")
	if r.code != 0 || len(r.On) != 2 || r.On[0].GPU != "t4" || r.On[1].GPU != "h100-80gb" {
		t.Fatalf("code %d, %+v, %s", r.code, r.On, r.stderr)
	}
	for i, want := range []int64{20, 0} { // the context of an H100 takes half of the memory
		largest := int64(0)
		if found := r.On[i].Largest; found != nil {
			largest = *found
		}
		if largest != want {
			t.Errorf("the largest on %s is %d, not %d: %+v", r.On[i].GPU, largest, want, r.On[i].Runs)
		}
	}
}

// TestWhatMakesAProgramFitIsWhatTheChangedProgramTakes applies the patch and the settings, and leaves out one of the
// blocks.
func TestWhatMakesAProgramFitIsWhatTheChangedProgramTakes(t *testing.T) {
	python := besideOthers(t)
	const memory = "1792MiB"
	command := []string{"--batch", "64", "--autocast", "off"}
	r := rehearseWith(t, append([]string{"--fit", memory, "--", python, smallGPT}, command...)...)
	fit := r.Fit
	if r.code != 0 || fit == nil || !fit.Fits || !fit.Fewest || fit.Rehearsals > 12 {
		t.Fatalf("code %d, %+v, %s", r.code, fit, r.stderr)
	}
	source, err := os.ReadFile(smallGPT)
	if err != nil {
		t.Fatal(err)
	}
	added := ""
	for line := range strings.Lines(fit.Patch) {
		if rest, is := strings.CutPrefix(line, "+"); is && !strings.HasPrefix(rest, "++") {
			added += rest
		}
	}
	const before = "optimizer = torch.optim.AdamW("
	changed := strings.Replace(string(source), before, added+before, 1)
	run := func(source string) rehearsed {
		t.Helper()
		path := filepath.Join(t.TempDir(), "gpt.py")
		if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		return rehearseWith(t, append([]string{"--no-advice", "--memory", memory, "--", "env", fit.Settings, python, path}, command...)...)
	}
	if its := run(changed); its.code != 0 || its.Ranks[0].PeakAllocated != fit.PeakAllocated || its.Ranks[0].PeakReserved != fit.PeakReserved {
		t.Errorf("code %d, %+v, and was said to take %+v", its.code, its.Ranks, fit)
	}
	fewer := strings.Replace(changed, `, "3"]`, "]", 1)
	if its := run(fewer); fewer == changed || its.code != 11 {
		t.Errorf("with one block fewer: code %d", its.code)
	}
}

// upgraded is how a comparison ended.
type upgraded struct {
	Before, After report.Rehearsal
	Grew          int64 `json:"grew_bytes"`
	Difference    struct {
		Devices []struct{ Lines []report.PlaceDiff }
	}
}

// TestTwoPythonsAreCompared has one whose environment makes a tensor larger.
func TestTwoPythonsAreCompared(t *testing.T) {
	python := besideOthers(t)
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // it is executed
			t.Fatal(err)
		}
		return path
	}
	before := write("python-before", "#!/bin/sh\nMEBIBYTES=32 exec "+python+" \"$@\"\n")
	after := write("python-after", "#!/bin/sh\nMEBIBYTES=96 exec "+python+" \"$@\"\n")
	program := write("program.py", "import os, torch\nkept = torch.empty(int(os.environ['MEBIBYTES']) << 20, dtype=torch.uint8, device='cuda')\n")
	compare := func(arguments ...string) (u upgraded, code int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "memtop", append([]string{"rehearse", "--json", "--python", before, "--python", after}, arguments...)...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir(), "OMP_NUM_THREADS=1")
		stdout, err := cmd.Output()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(stdout, &u); err != nil {
			t.Fatalf("%v: %s", err, stdout)
		}
		return u, cmd.ProcessState.ExitCode()
	}
	u, code := compare("--", "python", program)
	if code != 0 || u.Grew != 64<<20 || u.Before.Command[0] != before || u.After.Most().PeakAllocated-u.Before.Most().PeakAllocated != 64<<20 {
		t.Errorf("code %d, grew %d, %v", code, u.Grew, u.Before.Command)
	}
	if lines := u.Difference.Devices[0].Lines; len(lines) != 1 || lines[0].Delta() != 64<<20 || !strings.Contains(lines[0].Name, "program.py:2") {
		t.Errorf("%+v", lines)
	}
	for limit, want := range map[string]int{"64MiB": 0, "63MiB": 10} {
		if _, code := compare("--max-growth", limit, "--", program); code != want {
			t.Errorf("with a growth of %s allowed: code %d, want %d", limit, code, want)
		}
	}
}
