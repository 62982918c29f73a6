package cuda

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain lets this test be started for a trial, as a program that trains is.
func TestMain(m *testing.M) {
	Trials()
	hasTrials = false // no test starts another by chance
	os.Exit(m.Run())
}

func TestATrialIsAProcessOfItsOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	shell := func(script string) *exec.Cmd { return exec.Command("/bin/sh", "-c", script) }
	tests := map[string]struct {
		process *exec.Cmd
		want    string
	}{
		"it agrees":                     {shell("exit 0"), ""},
		"it does not":                   {shell("echo wgmma and mma.sync give different sums; exit 1"), "wgmma and mma.sync give different sums"},
		"a fault ends it":               {shell("kill -SEGV $$"), "the trial: signal: segmentation fault"},
		"it has no end":                 {shell("exec sleep 600"), "the trial did not end within 500ms"},
		"its input is open":             {shell("read line; echo it could not see this process end; exit 1"), "the trial did not end within 500ms"},
		"it cannot be started":          {exec.Command("/nonexistent"), "starting the trial: "},
		"this program, which knows one": {exec.Command(self), "cuda:9"},
	}
	if _, err := openLibrary(); err != nil {
		p := tests["this program, which knows one"]
		p.want = "no NVIDIA driver is installed"
		tests["this program, which knows one"] = p
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			limit := time.Minute
			if strings.Contains(test.want, "500ms") {
				limit = time.Second / 2
			}
			err := runTrial(test.process, "9 bfloat16", limit)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(strings.TrimPrefix(err.Error(), "there is no device "), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestAnUnknownTrialSaysSo(t *testing.T) {
	for _, what := range []string{"", "0", "x bfloat16", "0 float32"} {
		if err := tryNamed(what); err == nil || !strings.Contains(err.Error(), "there is no such trial") {
			t.Errorf("%q: got %v", what, err)
		}
	}
}

func TestAProgramWithoutTrialsUsesNoKernelThatNeedsOne(t *testing.T) {
	if err := tryInProcess(0, hopperTypes[0]); err == nil || !strings.Contains(err.Error(), "tries no kernels") {
		t.Errorf("got %v", err)
	}
}
