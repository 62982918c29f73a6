package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Recordings of others, rehearsed
//
// MEMTOP_RECORDINGS is a folder with the repositories below, each at its commit: their
// scripts run, and the snapshots that they write themselves are held against those that
// their authors recorded on GPUs. None of it is in this project.

// recording is a snapshot that a public script wrote on a GPU.
type recording struct {
	script   []string // in the repository's folder, and its arguments
	folder   string   // of the repository, in which it runs
	path     string   // for Python
	writes   string   // where, in that folder
	recorded string   // its file in the repository, or in $MEMTOP_SNAPSHOTS
	release  string   // of PyTorch, without its patch
	gpu      string   // one of the generation that the recording shows
	unsorted bool     // frees come in another order: autocast keeps its casts by the addresses of tensors
}

// wedsonlin is Wedsonlin/assignment2-systems at 8630bcf.
func wedsonlin(pattern, what, recorded string) recording {
	return recording{
		[]string{
			"../cs336_systems/nsys_profile.py", "--vocab_size", "10000", "--context_length", "512", "--d_model", "1024", "--d_ff", "4096", "--num_layers", "24",
			"--num_heads", "16", "--model_name", "medium", "--warmup-steps", "5", "--execution-steps", "10", "--autocast", "true", "--memory-profile", "true", "--pattern", pattern,
		},
		"wedsonlin/scripts", "../cs336-basics", "../results/medium_512_" + what + "_memory_snapshot.pickle", recorded, "2.11", "a100-80gb", false,
	}
}

// niu is NiuHuangxiaozi/assignment2-systems at 9d868b9.
func niu(mode, length string, mixed bool) recording {
	r := recording{folder: "niu/cs336_systems/profile_memory", path: "../..", release: "2.6", gpu: "a100-80gb", unsorted: mixed}
	name := map[string]string{"forward": "forward", "backward": "forward_and_backward"}[mode] + "_memory_snapshot_" + length
	r.script = []string{"profile_memory.py", "--mode", mode, "--context_length", length}
	if mixed {
		name += "_mixed_precision"
		r.script = append([]string{"profile_mixprecision_memory.py", "--use_mixed_precision"}, r.script[1:]...)
	}
	r.writes, r.recorded = name+".pickle", "niu/cs336_systems/profile_memory/"+name+".pickle"
	return r
}

var recordings = map[string]recording{
	"wedsonlin, a training step":  wedsonlin("full-training-step", "training", "training_medium_512.torch2.10.pickle"),
	"wedsonlin, forward only":     wedsonlin("forward-only", "inference", "inference_medium_512.torch2.10.pickle"),
	"niu, forward 100":            niu("forward", "100", false),
	"niu, forward 150":            niu("forward", "150", false),
	"niu, forward 200":            niu("forward", "200", false),
	"niu, a step of 100":          niu("backward", "100", false),
	"niu, a step of 150":          niu("backward", "150", false),
	"niu, a step of 200":          niu("backward", "200", false),
	"niu, forward 200 in mixed":   niu("forward", "200", true),
	"niu, a step of 200 in mixed": niu("backward", "200", true),
}

// TestRecordingsAreRehearsedToTheByte runs those of this release of PyTorch.
func TestRecordingsAreRehearsedToTheByte(t *testing.T) {
	folder := os.Getenv("MEMTOP_RECORDINGS")
	if folder == "" {
		t.Skip("MEMTOP_RECORDINGS does not name a folder with others' repositories")
	}
	python := cudaPython(t)
	release, err := exec.CommandContext(t.Context(), python, "-c", "import importlib.metadata as m; print(m.version('torch'))").Output()
	fatal.If(t, err)
	for name, r := range recordings {
		if strings.HasPrefix(string(release), r.release+".") {
			t.Run(name, func(t *testing.T) { r.hold(t, python, folder) })
		}
	}
}

// hold rehearses a recording and compares.
func (r *recording) hold(t *testing.T, python, folder string) {
	t.Helper()
	recorded := filepath.Join(folder, r.recorded)
	if !strings.Contains(r.recorded, "/") {
		recorded = filepath.Join(pytorchtest.SharedFolder(t), r.recorded)
	}
	want := onfile.Trace(t, recorded)
	again := t.TempDir() // a copy, so that what the repository has stays
	fatal.If(t, os.CopyFS(again, os.DirFS(filepath.Join(folder, strings.Split(r.folder, "/")[0]))))
	_, within, _ := strings.Cut(r.folder, "/")
	place := filepath.Join(again, within)
	_ = os.Remove(filepath.Join(place, r.writes)) // else it is that of the repository
	cmd := exec.CommandContext(t.Context(), "memtop", append([]string{"rehearse", "--gpu", r.gpu, "--no-advice", "--steps", "1000", "--", python}, r.script...)...)
	cmd.Dir = place
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(place, r.path), "OMP_NUM_THREADS=1")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	got := onfile.Trace(t, filepath.Join(place, r.writes))
	r.compare(t, want, got)
}

func (r *recording) compare(t *testing.T, want, got *trace.Trace) {
	t.Helper()
	for _, kinds := range [][]trace.Kind{{trace.Alloc, trace.FreeRequested, trace.FreeCompleted}, {trace.Alloc}, {trace.SegmentAlloc, trace.SegmentFree}} {
		a, b := sequence(want, kinds), sequence(got, kinds)
		if r.unsorted && len(kinds) == 3 {
			slices.Sort(a)
			slices.Sort(b)
		}
		equal := 0
		for equal < min(len(a), len(b)) && a[equal] == b[equal] {
			equal++
		}
		t.Logf("%v: %d of %d equal in order and size", kinds, equal, len(a))
		if equal < len(a) || len(b) != len(a) {
			t.Errorf("%v: %d recorded, %d rehearsed, the first %d equal", kinds, len(a), len(b), equal)
		}
	}
	a, b := report.New(want).Devices[0], report.New(got).Devices[0]
	if a.PeakRequested != b.PeakRequested || a.PeakReserved != b.PeakReserved || a.Segments != b.Segments || a.Active != b.Active {
		t.Errorf("peaks %d and %d, %d segments, %d active; recorded %d and %d, %d, %d",
			b.PeakRequested, b.PeakReserved, b.Segments, b.Active, a.PeakRequested, a.PeakReserved, a.Segments, a.Active)
	}
	t.Logf("peaks of %d and %d bytes, %d segments, %d bytes active at the end, equal unless said", a.PeakRequested, a.PeakReserved, a.Segments, a.Active)
}

// sequence returns the events of the first device of some kinds with their sizes.
func sequence(of *trace.Trace, kinds []trace.Kind) (list []string) {
	events := of.Devices[0].Events
	for i := range events.Len() {
		if e := events.At(i); slices.Contains(kinds, e.Kind) {
			list = append(list, fmt.Sprintf("%v %d", e.Kind, e.Size))
		}
	}
	return list
}
