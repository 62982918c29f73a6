package procfs

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestAFileIsReadWholeOrNotAtAll(t *testing.T) {
	for name, test := range map[string]struct {
		bytes int64
		fails bool
	}{
		"an empty file":                  {0, false},
		"a file as long as the bound":    {most, false},
		"a file longer than the bound":   {most + 1, true},
		"a file larger than all memory":  {1 << 42, true},
		"a file of a line, which is all": {80, false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "status")
			fatal.If(t, os.WriteFile(path, nil, 0o600))
			if err := os.Truncate(path, test.bytes); err != nil {
				t.Skip("this file system has no such file: ", err)
			}
			text, err := Read(path)
			inside, err2 := ReadIn(os.DirFS(folder), "status")
			if (err != nil) != test.fails || (err2 != nil) != test.fails {
				t.Errorf("got %v and %v, want errors: %t", err, err2, test.fails)
			}
			if err == nil && (int64(len(text)) != test.bytes || int64(len(inside)) != test.bytes) {
				t.Errorf("got %d and %d bytes, want %d", len(text), len(inside), test.bytes)
			}
		})
	}
}

// TestAProcessIsReadAsFarAsIsEnough has a process with a command line and an environment
// that are longer than memtop reads.
func TestAProcessIsReadAsFarAsIsEnough(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc here")
	}
	long := strings.Repeat("x", 100<<10)
	job := exec.CommandContext(t.Context(), "sh", "-c", "echo ready; read end", "name", long, long, "last")
	job.Env = []string{"FIRST=1", "A=" + long, "B=" + long, "LAST=1"}
	input, err := job.StdinPipe()
	fatal.If(t, err)
	output, err := job.StdoutPipe()
	fatal.If(t, err)
	fatal.If(t, job.Start())
	t.Cleanup(func() { _ = input.Close(); _ = job.Wait() })
	if !bufio.NewScanner(output).Scan() {
		t.Fatal("it ended")
	}
	pid := job.Process.Pid
	if arguments := Arguments(pid); arguments[0] != "sh" || len(arguments) != 6 {
		t.Errorf("it has %d arguments, want the 6 that begin in the first 128 KiB", len(arguments))
	}
	if got := len(Command(pid)); got != mostText {
		t.Errorf("its command is %d bytes, want %d", got, mostText)
	}
	if got := ShortCommand(pid); len(got) != shortCommand || got[:8] != "sh -c ec" {
		t.Errorf("its command is in short %q", got)
	}
	if get := Environment(pid); get("FIRST") != "1" || get("A") != long || len(get("B")) >= len(long) || get("LAST") != "" {
		t.Errorf("it has FIRST=%s, %d and %d bytes, LAST=%s", get("FIRST"), len(get("A")), len(get("B")), get("LAST"))
	}
	if get := Environment(1 << 30); get("FIRST") != "" || Command(1<<30) != "" || len(Arguments(1<<30)) != 1 {
		t.Error("a process that never was has something")
	}
}

func TestTheBeginOfAProcessIsRead(t *testing.T) {
	const after = " 1 1 1 0 -1 4194560 100 0 0 0 1 2 3 4 20 0 9 0 1234567 1000 10"
	tests := map[string]struct {
		stat  string
		ticks uint64
		fails string
	}{
		"a plain name":               {"7 (train) S" + after, 1234567, ""},
		"a name with a space":        {"7 (my train) R" + after, 1234567, ""},
		"a name that looks like one": {"7 (a) S 1 1 (b)) D" + after, 1234567, ""},
		"a name with a line break":   {"7 (a\n) S) S" + after, 1234567, ""},
		"one that has ended":         {"7 (train) Z" + after, 0, fs.ErrNotExist.Error()},
		"a line that is cut":         {"7 (train) S 1 1", 0, "fields"},
		"nothing":                    {"", 0, "fields"},
		"no number":                  {"7 (a) S" + strings.Replace(after, "1234567", "x", 1), 0, "invalid syntax"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := fatal.Write(t, "stat", []byte(test.stat))
			ticks, err := StartOf(path)
			if ticks != test.ticks || !strings.Contains(fmt.Sprint(err), test.fails) || (err == nil) != (test.fails == "") {
				t.Errorf("got %d and %v, want %d and %q", ticks, err, test.ticks, test.fails)
			}
		})
	}
}

func TestTheAgeOfAProcessGrows(t *testing.T) {
	first, err := Age(os.Getpid())
	if err != nil {
		t.Skip(err)
	}
	for later := first; later <= first; {
		if later, err = Age(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if boot, err := Age(1); err != nil || boot < first || first < 0 || first > time.Hour {
		t.Errorf("this process is %v old, the first one %v: %v", first, boot, err)
	}
}
