package program

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/engine/collective/mpi"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestMain(m *testing.M) {
	probetest.WithoutBoxes()
	testscript.Main(m, map[string]func(){"memtrain": func() { os.Exit(Run(os.Args[1:], os.Stdout, os.Stderr, testReach())) }})
}

// testReach is the Reach of memtrain as a process of its own. With a build of the
// kernels for the host it includes a GPU.
func testReach() Reach {
	if kernels := os.Getenv(kernelsVariable); kernels != "" {
		return gpuReach(kernels)
	}
	return Reach{Group: mpi.Open}
}

// TestScripts runs testdata/script, where memtrain is the real program.
func TestScripts(t *testing.T) {
	fixtures, err := filepath.Abs("../../../engine")
	fatal.If(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ENGINE", fixtures)
			e.Setenv("MEMTOP_DIR", filepath.Join(e.WorkDir, "probes"))
			return writeTokens(filepath.Join(e.WorkDir, "tokens"))
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, errors.New("unknown condition " + name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fails": fails, "objects": objects, "losses": losses, "near": near, "reserved": reserved, "grows": grows, "checked": checked,
			"signalled": signalled, "flip": flip,
		},
	})
}

// TestHostileNamesAreNotPrinted makes memtrain fail with a hostile file name and
// with a hostile flag.
func TestHostileNamesAreNotPrinted(t *testing.T) {
	const hostile = "a\x1b]0;x\x07\u009b31m\u202e\u200b\U000e0041"
	for _, args := range [][]string{{"--data", hostile}, {"--resume", hostile}, {"--init", hostile}, {"--snapshot", hostile + "/x"}, {"--model", hostile}, {"--" + hostile}, {hostile}} {
		var stdout, stderr bytes.Buffer
		code := Run(append([]string{"--probe", "off", "--steps", "1"}, args...), &stdout, &stderr, Reach{})
		for _, text := range []string{stdout.String(), stderr.String()} {
			if text != trace.PrintableLines(text) {
				t.Errorf("%q: exit code %d, %q", args, code, text)
			}
		}
		if code == 0 || stderr.Len() == 0 {
			t.Errorf("%q: exit code %d, and %q", args, code, stderr.String())
		}
	}
}

// writeTokens writes a token file with a vocabulary of 32.
func writeTokens(path string) error {
	const n = 1000
	raw := binary.LittleEndian.AppendUint64([]byte("memtoptk"), 1<<32+1) // version 1, a byte a token
	raw = binary.LittleEndian.AppendUint64(raw, 32)
	raw = binary.LittleEndian.AppendUint64(raw, n)
	for i := range n {
		raw = append(raw, byte(i*i%32))
	}
	return os.WriteFile(path, raw, 0o600)
}

// fails runs a command that must leave with an exit code and say one line that
// matches a pattern:
//
//	fails CODE PATTERN COMMAND...
func fails(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[2], args[3:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		ts.Fatalf("it did not fail: %v", err)
	}
	wantExit(ts, exit, args[0])
	told := ts.ReadFile("stderr")
	if strings.Count(told, "\n") != 1 || !strings.HasPrefix(told, "memtrain: ") {
		ts.Fatalf("standard error is not one line of memtrain's: %q", told)
	}
	if !regexp.MustCompile(args[1]).MatchString(told) {
		ts.Fatalf("standard error is %q, want it to match %q", told, args[1])
	}
}

func wantExit(ts *testscript.TestScript, exit *exec.ExitError, code string) {
	if got := strconv.Itoa(exit.ExitCode()); got != code {
		ts.Fatalf("exit code %s, want %s", got, code)
	}
}

// read decodes what --json has printed to a file.
func read(ts *testscript.TestScript, file string) []object {
	var list []object
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.DisallowUnknownFields()
	for {
		var o object
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return list
		}
		ts.Check(err)
		list = append(list, o)
	}
}

// objects checks the objects of --json: their number, their sums, and settings
// of the last one:
//
//	objects FILE COUNT [KEY=VALUE...]
func objects(ts *testscript.TestScript, _ bool, args []string) {
	list := read(ts, args[0])
	if got := strconv.Itoa(len(list)); got != args[1] {
		ts.Fatalf("%s objects, want %s", got, args[1])
	}
	for i, o := range list {
		if o.Step != int64(i+1) || o.Loss == nil || o.StepTimeNS <= 0 || o.Tokens <= 0 {
			ts.Fatalf("object %d: %+v", i+1, o)
		}
		requested := sum(o.Categories)
		if len(o.Categories) != trace.CategoryCount || len(o.CategoriesAtPeak) != trace.CategoryCount || requested > o.AllocatedBytes ||
			o.AllocatedBytes > o.ReservedBytes || o.AllocatedBytes > o.PeakAllocated ||
			sum(o.CategoriesAtPeak) > o.PeakAllocated || sum(o.CategoriesAtPeak) < requested {
			ts.Fatalf("object %d: the bytes do not fit together: %+v", i+1, o)
		}
		if o.Categories["other"] != 0 || o.Categories["gradient"] != 0 || o.CategoriesAtPeak["activation"] == 0 {
			ts.Fatalf("object %d: after a step %v, at its peak %v", i+1, o.Categories, o.CategoriesAtPeak)
		}
	}
	for _, setting := range args[2:] {
		key, value, _ := strings.Cut(setting, "=")
		if got := list[len(list)-1].Settings[key]; got != value {
			ts.Fatalf("setting %s is %q, want %q", key, got, value)
		}
	}
}

func sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// losses checks that the losses of the steps in one file and then in others are
// those of the first file, bit by bit:
//
//	losses WHOLE PART...
func losses(ts *testscript.TestScript, _ bool, args []string) { compare(ts, args, 0) }

// near checks that the losses of the steps in two files differ by rounding only:
//
//	near FILE FILE
func near(ts *testscript.TestScript, _ bool, args []string) { compare(ts, args, 1e-4) }

func compare(ts *testscript.TestScript, files []string, limit float64) {
	var parts []object
	for _, file := range files[1:] {
		parts = append(parts, read(ts, file)...)
	}
	whole := read(ts, files[0])
	if len(whole) != len(parts) {
		ts.Fatalf("%d steps in parts, %d as a whole", len(parts), len(whole))
	}
	for i := range whole {
		if d := math.Abs(*whole[i].Loss - *parts[i].Loss); d > limit || whole[i].Step != parts[i].Step {
			ts.Fatalf("step %d: loss %v in parts, %v as a whole", whole[i].Step, *parts[i].Loss, *whole[i].Loss)
		}
	}
}

// reserved checks that no step has reserved more:
//
//	reserved FILE BYTES
func reserved(ts *testscript.TestScript, _ bool, args []string) {
	most, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	for i, o := range read(ts, args[0]) {
		if o.PeakReservedBytes > most {
			ts.Fatalf("step %d has reserved %d bytes, more than %d", i+1, o.PeakReservedBytes, most)
		}
	}
}

// grows checks that a category grows by the same in every step, or not at all:
//
//	[!] grows FILE CATEGORY
func grows(ts *testscript.TestScript, not bool, args []string) {
	list := read(ts, args[0])
	for i := 2; i < len(list); i++ {
		growth := list[i].Categories[args[1]] - list[i-1].Categories[args[1]]
		before := list[i-1].Categories[args[1]] - list[i-2].Categories[args[1]]
		if growth != before || (growth > 0) == not {
			ts.Fatalf("step %d: %s grew by %d bytes, and by %d in the step before", i+1, args[1], growth, before)
		}
	}
}

// checked reads a snapshot, checks that it is consistent, and that events of
// the kinds, and blocks of the categories and layers, that are named are in it:
//
//	checked FILE NAME...
func checked(ts *testscript.TestScript, _ bool, args []string) {
	t, err := pytorch.Decode(context.Background(), strings.NewReader(ts.ReadFile(args[0])), pytorch.Options{})
	ts.Check(err)
	if problems := tracetest.Check(t); problems.Count > 0 {
		ts.Fatalf("%d problems: %v", problems.Count, problems.First)
	}
	found := namesIn(t)
	for _, name := range args[1:] {
		if !found[name] {
			ts.Fatalf("there is no %q in %s", name, args[0])
		}
	}
}

func namesIn(t *trace.Trace) map[string]bool {
	found := make(map[string]bool)
	note := func(id trace.NoteID) {
		n := t.Tables.Notes[id]
		for _, s := range []trace.StringID{n.Category, n.Layer, n.Role, n.Shape, n.DType} {
			found[t.Tables.Strings[s]] = true
		}
	}
	for _, d := range t.Devices {
		for i := range d.Events.Len() {
			e := d.Events.At(i)
			found[e.Kind.String()] = true
			note(e.Note)
		}
		for _, s := range d.Final.Segments {
			for _, b := range s.Blocks {
				note(b.Note)
			}
		}
	}
	return found
}

var signals = map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1, "KILL": os.Kill}

// signalled starts memtrain, sends it signals one after the other, each after
// one more step, and checks its exit code, which is -1 for one that was killed:
//
//	signalled CODE SIGNAL[,SIGNAL...] ARGUMENTS...
func signalled(ts *testscript.TestScript, _ bool, args []string) {
	var stderr bytes.Buffer
	c := exec.Command(filepath.Join(firstDir(ts.Getenv("PATH")), "memtrain"), args[2:]...)
	c.Dir, c.Stderr, c.Env = ts.MkAbs("."), &stderr, []string{
		"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "MEMTOP_DIR=" + ts.Getenv("MEMTOP_DIR"),
	}
	out, err := c.StdoutPipe()
	ts.Check(err)
	ts.Check(c.Start())
	lines := bufio.NewScanner(out)
	for name := range strings.SplitSeq(args[1], ",") {
		for range 2 {
			if !lines.Scan() {
				ts.Fatalf("it ended by itself: %s", stderr.String())
			}
		}
		ts.Check(c.Process.Signal(signals[name]))
	}
	for lines.Scan() {
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) {
		ts.Fatalf("it ended with %v", err)
	}
	wantExit(ts, exit, args[0])
	if got := stderr.String(); strings.Count(got, "\n") != 1 && args[1] != "KILL" {
		ts.Fatalf("standard error is not one line: %q", got)
	}
}

func firstDir(path string) string {
	dir, _, _ := strings.Cut(path, string(os.PathListSeparator))
	return dir
}

// flip changes a bit in the middle of a file:
//
//	flip FILE
func flip(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	b[len(b)/2] ^= 1
	ts.Check(os.WriteFile(path, b, 0o600))
}
