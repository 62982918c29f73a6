package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tuitest"
)

// mostKeys is how many keys an answer may take.
const mostKeys = 4

// task is a question that a user has, and the way to its answer.
type task struct {
	row     string // how a row of the questions in docs/commands.md begins, which has the same keys
	command string // memtop's arguments; the files are those of taskFiles
	begin   string // what the screen shows when the user begins to press keys
	keys    []press
	answer  []string
	leave   string // keys; none when the program leaves by itself
}

// press is a key, and what the screen shows when the user goes on.
type press struct{ key, shows string }

// Lines of the engine's own code move when it is edited, so their numbers are
// patterns. All other texts and numbers are exact.
var tasks = map[string]task{
	"who asked, and who held the memory: PyTorch": {
		row: "Which device ran out", command: "open training.pickle", leave: "q",
		answer: []string{
			`Out of memory ─+ memory was really in use`, `asked     72\.0 MiB by model\.py:70 forward`,
			`short by  28\.0 MiB: the driver had 44\.0 MiB`, `56\.5 MiB train\.py:61 train_step`, `6\.0 MiB held before recording`,
		},
	},
	"who asked, and who held the memory: engine": {
		command: "open ran_out.pickle", leave: "q",
		answer: []string{
			`asked     2\.0 MiB by norm\.go:\d+ nn\.\(\*LayerNorm\)\.Forward`, `short by  10\.0 MiB: it takes a new segment of 20\.0 MiB`,
			`36\.0 MiB linear\.go:\d+ nn\.\(\*Linear\)`, `12\.6 MiB build\.go:\d+ nn\.Builder\.Param`,
		},
	},
	"which of the devices ran out of memory": {
		command: "open two_devices.pickle", leave: "q",
		answer: []string{
			`device 1 of 2 · at event 123/123 \(out of memory\)`, `0 +193\.7 MiB +▸1 +193\.7 MiB ✗`, `asked     512\.0 MiB by attention\.py:31 attend`,
		},
	},
	"which line holds most at the peak: PyTorch": {
		row: "Which line holds most", command: "open training.pickle", begin: "device 0", keys: []press{{"p", `\(peak\)`}, {"6", "outermost first"}, {"l", "By line"}}, leave: "q",
		answer: []string{
			`at event 736/771 \(peak\) · 190\.6 MiB live`, `\n   56\.5 MiB   29\.7%  156\.5 MiB      52  train\.py:61 train_step\n`,
			`/home/user/train\.py:61`,
		},
	},
	"which line holds most at the peak: engine": {
		command: "open leak.pickle", begin: "device 0", keys: []press{{"6", "outermost first"}, {"l", "By line"}}, leave: "q",
		answer: []string{`\(peak\) · 2\.5 MiB live`, `480\.0 KiB   18\.5%  480\.0 KiB      30  leak\.go:\d+ train\.\(\*Trainer\)\.fillCache\n`},
	},
	"what leaks, and from which line: PyTorch": {
		row: "What leaks", command: "open after.pickle", leave: "q",
		answer: []string{`! Memory from train\.py:71 log_loss grows by 1\.0 MiB per step, in each of the\n +last 7 steps; it now holds 12\.0 MiB\.`},
	},
	"what leaks, and from which line: engine": {
		command: "open leak.pickle", begin: "device 0", keys: []press{{"3", "creation sites"}}, leave: "q",
		answer: []string{
			`⚠ suspected     480\.0 KiB     30  \+16\.0 KiB ▁▂▃▄▅▆▇█ leak\.go:\d+ train`, `leak\.go:\d+ train\.\(\*Trainer\)\.fillCache\n`,
			`suspected leak, seen over 29 steps`, `grew in 29 of the last 29 steps, by 16\.0 KiB a step`,
		},
	},
	"which block pins a segment": {
		row: "Which block keeps", command: "open pinned.pickle", begin: "device 0", keys: []press{{"5", "▸ 0x7f0000000000"}, {"<", `address▼`}, {"<", `pin▼\n  0x7f`}, {"g", "▸ 0x7f0002000000"}}, leave: "q",
		answer: []string{
			`▸ 0x7f0002000000   20\.0 MiB  10\.0% .* 18\.0 MiB      1    P`,
			`pinned by  2\.0 MiB at 0x7f0003200000 by evaluate\.py:41 keep_scores\n`,
		},
	},
	"what the memory is: PyTorch": {
		command: "open training.pickle", leave: "q",
		answer: []string{`parameter +34\.0 MiB  18\.2%`, `optimizer +56\.0 MiB  30\.0%`, `activation +96\.0 MiB  51\.5%`, `input +512\.0 KiB   0\.3%`, `guessed`},
	},
	"what the memory is, and how that is known": {
		row: "What is the memory for", command: "open training.pickle", begin: "Who held the rest", keys: []press{{"e", "optimizer begins"}}, leave: "q",
		answer: []string{`optimizer +56\.0 MiB  30\.0%\n +optimizer begins its state +56\.0 MiB`, `activation +96\.0 MiB  51\.5%\n +forward with a graph, and the recording ends +96\.0 MiB`},
	},
	"what the memory is: engine": {
		command: "open leak.pickle", leave: "q",
		answer: []string{`categories exact`, `parameter +463\.0 KiB  11\.3%`, `optimizer +926\.0 KiB  22\.6%`, `activation +516\.0 KiB  12\.6%`},
	},
	"what would have made the request fit": {
		command: "open pinned.pickle", leave: "q",
		answer: []string{
			`160\.0 MiB  PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:4 +replayed\n`,
			`40\.0 MiB  free 4\.0 MiB that pin 2 segments +counted\n`,
		},
	},
	"which allocator settings would have made the request fit": {
		row: "Would other allocator settings", command: "open pinned.pickle", begin: "Out of memory", keys: []press{{"w", "What if"}}, leave: "qq",
		answer: []string{
			`Reproduced: under the recorded settings`, `expandable_segments:True +240\.0 MiB .* does not fit\n`,
			`roundup_power2_divisions:4 +252\.0 MiB .* fits\n`,
		},
	},
	"what checkpointing does to the peak and the step": {
		row: "What does checkpointing change", command: "demo -- --layers 2 --seq 64 --batch 4", begin: `step \d\d+ `, keys: []press{{"C", "checkpoint none → block"}, {"8", "1 change"}}, leave: "q",
		answer: []string{
			`checkpoint none → block, applied at step [\d,]+, 8 steps measured`, `peak allocated +-1\.3 MiB +-1\.3 MiB +0\.0% +10\.0 MiB +8\.8 MiB`,
			`step time +[+-]`,
		},
	},
	"what a layer on the processor does to the peak and the step": {
		row: "And a layer that the processor computes", command: "demo -- --layers 2 --seq 64 --batch 4", begin: `step \d\d+ `,
		keys: []press{{"2", `29 layers`}, {"j", `\n wte +Embedding`}, {"P", `host none → wte`}, {"8", "1 change"}}, leave: "q",
		answer: []string{`host none → \S+, applied at step [\d,]+, 8 steps measured`, `peak allocated +0 B +0 B +0\.0%`},
	},
	"which rank runs out first, and why": {
		row: "Which rank runs out first", command: "open rank0.pickle rank1.pickle", begin: "2 ranks", keys: []press{{"9", "2 ranks"}}, leave: "q",
		answer: []string{`rank +step +allocated +peak +skew .*\n +1 +8 +- +16\.0 MiB`, `Rank 1 holds 16\.0 MiB more at its peak than the median, 4\.0 KiB`},
	},
	"what would make a run take less": {
		row: "What would make a run take less", command: "demo -- --layers 2 --seq 64 --batch 4", begin: `step \d\d+ `,
		keys: []press{{"0", "What would make it less"}}, leave: "q",
		answer: []string{`offload=optimizer +-3\.3 MiB +-33%`, `why +rehearsed by the program: the peak`},
	},
	"what grew between two snapshots: PyTorch": {
		row: "What grew between two files", command: "open before.pickle after.pickle", begin: "device 0",
		keys: []press{{"6", "outermost first"}, {"v", "By cause"}, {"l", "By line"}}, leave: "q",
		answer: []string{
			`before\.pickle → after\.pickle`, `\n +8\.0 MiB +12\.0 MiB +\+4\.0 MiB  train\.py:71 log_loss\n`, `8\.0 MiB in 8 → 12\.0 MiB in 12`,
		},
	},
	"what grew between two snapshots: engine": {
		command: "open early.pickle leak.pickle", begin: "device 0", keys: []press{{"6", "outermost first"}, {"v", "By cause"}}, leave: "q",
		answer: []string{`By cause at the cursor: \+400\.0 KiB`, `Only after, workspace: 25 allocations, 400\.0 KiB; from leak\.go:\d+\n train\.\(\*Trainer\)\.fillCache\.`},
	},
	"what grew between two snapshots, printed": {
		command: "diff early.pickle leak.pickle",
		answer: []string{
			`what made the difference\n +\+400\.0 KiB  Only after, workspace: 25 allocations`,
			`\n +80\.0 KiB +480\.0 KiB +\+400\.0 KiB +5 -> 30  leak\.go:\d+ train`,
		},
	},
}

// TestUsersFindTheirAnswers does what users come for, in a terminal of the size
// that a connection at night has.
func TestUsersFindTheirAnswers(t *testing.T) {
	liveness(t)
	files := taskFiles(t)
	for _, question := range slices.Sorted(maps.Keys(tasks)) {
		t.Run(question, func(t *testing.T) {
			task := tasks[question]
			if n := len(task.keys); n > mostKeys {
				t.Errorf("it takes %d keys", n)
			}
			start := time.Now()
			s := openScreen(t, 80, 24, task.in(files)...)
			s.match(task.begin)
			for _, p := range task.keys {
				s.press(p.key)
				s.match(p.shows)
			}
			s.match(task.answer...)
			t.Logf("memtop %s: answered after %d keys and %.1f s", task.command, len(task.keys), time.Since(start).Seconds())
			s.press(task.leave)
			s.leave(command.ExitOK)
		})
	}
}

// in returns memtop's arguments, with files of a folder.
func (task task) in(folder string) []string {
	args := strings.Fields(task.command)
	for i, arg := range args {
		if filepath.Ext(arg) == ".pickle" {
			args[i] = filepath.Join(folder, arg)
		}
	}
	return args
}

// TestTheQuestionsOfTheReferenceAreTasks holds the table of questions and keys in
// docs/commands.md against the tasks: each row is one, and has its keys.
func TestTheQuestionsOfTheReferenceAreTasks(t *testing.T) {
	page := string(contents(t, "../../docs/commands.md"))
	_, table, _ := strings.Cut(page, "\n| question | keys |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) < 10 {
		t.Fatalf("only %d questions were found", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(row, "|")
		at := ""
		for question, task := range tasks {
			if task.row != "" && strings.HasPrefix(cells[1], " "+task.row) {
				at = question
			}
		}
		first, _, _ := strings.Cut(cells[2], ";")
		var typed []string
		for _, p := range tasks[at].keys {
			if !strings.HasSuffix(p.key, "\r") { // a text that the page describes
				typed = append(typed, p.key)
			}
		}
		if want := keysOf(first); at == "" || !slices.Equal(typed, want) && !slices.Equal(typed, keysOf(cells[2])) {
			t.Errorf("%s: the page says %q, the task %q types %q", cells[1], want, at, typed)
		}
	}
}

// keysOf returns the keys that a cell of a table names.
func keysOf(cell string) (keys []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			keys = append(keys, part)
		}
	}
	return keys
}

// match waits until all patterns match the screen.
func (s session) match(patterns ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), deadline)
	defer cancel()
	missing := func(pattern string) bool { return !regexp.MustCompile(pattern).MatchString(s.Text()) }
	err := s.Until(ctx, func(string) bool { return !slices.ContainsFunc(patterns, missing) })
	if err != nil {
		at := slices.IndexFunc(patterns, missing)
		s.t.Fatalf("waiting for %q: %v; the screen is\n%s", patterns[max(at, 0)], err, s.Text())
	}
}

// taskFiles makes the snapshots that the questions are about and returns their
// folder: some of programs with PyTorch's stacks, some of our engine.
func taskFiles(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	fatal.If(t, os.WriteFile(in("training.pickle"), contents(t, "testdata/tiny_training.pickle"), 0o600))
	writeSnapshot(t, in("pinned.pickle"), pytorchtest.PinnedEvaluation())
	writeSnapshot(t, in("two_devices.pickle"), tuitest.OneOfTwoRanOut())
	for name, of := range map[string]struct {
		steps int
		kept  string
	}{"before.pickle": {8, "1048576"}, "after.pickle": {12, "1048576"}, "rank0.pickle": {8, "0"}, "rank1.pickle": {8, "2097152"}} {
		run, err := leakingSteps(of.steps, of.kept)
		fatal.If(t, err)
		writeSnapshot(t, in(name), run)
	}
	trained(t, command.ExitOK, "--leak", "cache", "--steps", "5", "--snapshot", in("early.pickle"))
	trained(t, command.ExitOK, "--leak", "cache", "--steps", "30", "--snapshot", in("leak.pickle"))
	trained(t, command.ExitError, "--force", "--device-memory", "128MiB", "--layers", "4", "--seq", "256", "--dim", "256", "--batch", "8",
		"--snapshot", in("ran_out.pickle"))
	return folder
}

// trained runs memtrain until it ends with an exit code.
func trained(t *testing.T, code int, args ...string) {
	t.Helper()
	run := commandNamed(t, trainer, append([]string{"--device", "cpu:0", "--probe", "off"}, args...)...)
	if out, _ := run.CombinedOutput(); run.ProcessState.ExitCode() != code {
		t.Fatalf("memtrain %q ended with %d: %s", args, run.ProcessState.ExitCode(), out)
	}
}
