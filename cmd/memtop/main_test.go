package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/memtop/rehearse"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/probe/sensor"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	probetest.WithoutBoxes()
	testscript.Main(ownFolders{m}, map[string]func(){"memtop": measured, "memtrain": main, "memtop-becomes": main, "memtop-acts": main, sensor.Starter: main, sensor.Server: main, rehearse.Tidies: main, "faulty": faulty, "ranked": ranked}) // see demo.go
}

// TestScripts runs testdata/script, where memtop is the real program.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("TEST_PID", strconv.Itoa(os.Getpid()))
			tiny, err := filepath.Abs("testdata/tiny_training.pickle")
			e.Setenv("TINY", tiny)
			return err
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "bash-completion":
				_, err := os.Stat("/usr/share/bash-completion/bash_completion")
				return err == nil, nil //nolint:nilerr // what is not there is a condition that does not hold
			case "proc":
				return runtime.GOOS == "linux", nil
			}
			return false, errors.New("unknown condition " + name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"fails":    fails,
			"snapshot": snapshot,
			"steps":    steps,
			"cut":      cut,
			"trains":   trains,
			"toggles":  toggles,
			"speaks":   speaks,
			"runs":     runs,
			"job":      job,
			"lies":     lies,
			"crowds":   crowds,
			"dwells":   dwells,
			"silent":   silent,
			"metrics":  metrics,
			"leave":    leave,
			"kills":    kills,
			"ends":     ends,
		},
	})
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
	if got := strconv.Itoa(exit.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
	told := ts.ReadFile("stderr")
	if strings.Count(told, "\n") != 1 || !strings.HasPrefix(told, "memtop: ") {
		ts.Fatalf("standard error is not one line of memtop's: %q", told)
	}
	if !regexp.MustCompile(args[1]).MatchString(told) {
		ts.Fatalf("standard error is %q, want it to match %q", told, args[1])
	}
}

// snapshot writes a small random snapshot:
//
//	snapshot FILE SEED
func snapshot(ts *testscript.TestScript, _ bool, args []string) {
	seed, err := strconv.ParseUint(args[1], 10, 64)
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	t := pytorchtest.Random(pytorchtest.Options{Seed: seed, Operations: 300})
	ts.Check(errors.Join(pytorch.Write(f, t), f.Close()))
}

// steps writes a snapshot of a run that keeps so many bytes of each step:
//
//	steps FILE STEPS BYTES
func steps(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	t, err := leakingSteps(n, args[2])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(errors.Join(pytorch.Write(f, t), f.Close()))
}

// leakingSteps returns the trace of a run of n steps that keeps so many bytes of
// each, "0" for none.
func leakingSteps(n int, bytes string) (*trace.Trace, error) {
	var marks, events strings.Builder
	for s := range n {
		for i, stage := range []string{"START", "END"} {
			fmt.Fprintf(&marks, "annotation \"ProfilerStep#%d\" %q device=0 @%d\n", s, stage, s*1000+i*900)
		}
		fmt.Fprintf(&events, "alloc 0x100 4096 @%d stack=forward\n", s*1000+100)
		if bytes != "0" {
			fmt.Fprintf(&events, "alloc 0x%x %s @%d stack=leak\n", (s+1)<<24, bytes, s*1000+200)
		}
		fmt.Fprintf(&events, "free_completed 0x100 4096 @%d\n", s*1000+300)
	}
	return tracetest.ParseText(strings.NewReader(`memtop-trace 1
frame model "model.py" 20 "forward"
frame log "train.py" 71 "log_loss"
stack forward model
stack leak log
` + marks.String() + "device 0\n" + events.String()))
}

// cut leaves the first bytes of a file, or the whole frames of a recording:
//
//	cut FILE BYTES|frames
func cut(ts *testscript.TestScript, _ bool, args []string) {
	if args[1] == "frames" {
		var frames bytes.Buffer
		copier := wire.NewCopier(&frames, strings.NewReader(ts.ReadFile(args[0])), wire.Limits{})
		var err error
		for err == nil {
			_, err = copier.Next()
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), frames.Bytes(), 0o600))
		return
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// ownFolders runs the tests with the folders of a user who has none yet, so that they
// neither find anything of whoever runs them nor leave something there.
type ownFolders struct{ *testing.M }

// Run implements testscript.TestingM.
func (m ownFolders) Run() int {
	folder, err := os.MkdirTemp("", "mt") // a socket's path is short
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	cache, err := os.UserCacheDir()
	if err == nil && os.Getenv("GOCACHE") == "" {
		_ = os.Setenv("GOCACHE", filepath.Join(cache, "go-build")) // tests build programs
	}
	for variable, name := range map[string]string{
		"XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run",
		"TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor",
	} {
		own := filepath.Join(folder, name)
		if err := os.Mkdir(own, 0o700); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_ = os.Setenv(variable, own) // it is a name that there may be
	}
	return m.M.Run()
}
