package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/probe/attach"
)

// readerFolder is where the reader of a page types its commands: it has the files and
// the running program that pages take for granted.
type readerFolder struct {
	t           *testing.T
	folder      string
	sockets     string // the folder of sockets and boxes
	environment []string
	python      string // "" where commands that need PyTorch are left out

	pid  int           // of the program that runs, 0 before one is needed
	over chan struct{} // closed when it has ended
	job  bool          // the ranks of a job run
	ends []func()
}

// newReaderFolder makes a folder. With MEMTOP_DOCS_PYTHON, a Python that has PyTorch,
// commands that start Python run too.
func newReaderFolder(t *testing.T) *readerFolder {
	t.Helper()
	r := &readerFolder{t: t, folder: t.TempDir(), python: os.Getenv("MEMTOP_DOCS_PYTHON")}
	r.sockets = memoryFolder(t)
	bin := filepath.Join(r.folder, "bin")
	r.environment = environ(map[string]string{
		"PATH": bin + ":" + os.Getenv("PATH"), "HOME": r.folder, "MEMTOP_DIR": r.sockets, "MEMTOP_BLACK_BOX": r.sockets,
		"XDG_CONFIG_HOME": r.folder, "XDG_STATE_HOME": r.folder, "OMP_NUM_THREADS": "1", "LC_ALL": "C.UTF-8",
		"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
	})
	t.Cleanup(func() {
		for _, end := range r.ends {
			end()
		}
	})
	r.fill(bin)
	return r
}

// memoryFolder returns a folder in memory, as black boxes need, with a short path, as
// sockets need.
func memoryFolder(t *testing.T) string {
	t.Helper()
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = ""
	}
	folder, err := os.MkdirTemp(parent, "mt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) }) // a program that was killed may still end
	return folder
}

// fill makes the files of the folder.
func (r *readerFolder) fill(bin string) {
	in := func(name string) string { return filepath.Join(r.folder, name) }
	root, err := filepath.Abs("../..")
	err = errors.Join(err, os.Mkdir(bin, 0o700), os.Mkdir(in("FOLDER"), 0o700), os.Symlink(filepath.Join(root, "cmd"), in("cmd")),
		os.Symlink(filepath.Join(root, "examples"), in("examples")), os.Symlink(filepath.Join(root, "engine"), in("engine")))
	for _, name := range []string{"memtop", "memtrain"} {
		path, lookErr := exec.LookPath(name)
		err = errors.Join(err, lookErr, os.Symlink(path, filepath.Join(bin, name)))
	}
	tiny := contents(r.t, "testdata/tiny_training.pickle")
	for _, name := range []string{"snap.pickle", "oom.pickle", "theirs.pickle", "base.pickle", "FILE", "FOLDER/snap.pickle"} {
		err = errors.Join(err, os.WriteFile(in(name), tiny, 0o600))
	}
	for name, text := range scripts {
		err = errors.Join(err, os.WriteFile(in(name), []byte(text), 0o600))
	}
	if r.python != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(bin, "python"), []byte("#!/bin/sh\nexec "+r.python+" \"$@\"\n"), 0o700),
			os.WriteFile(filepath.Join(bin, "torchrun"), []byte("#!/bin/sh\nexec "+r.python+" -m torch.distributed.run \"$@\"\n"), 0o700))
	}
	if err != nil {
		r.t.Fatal(err)
	}
	for name, kept := range map[string]string{"A": "1048576", "B": "2097152", "rank0.pickle": "0", "rank1.pickle": "2097152"} {
		run, err := leakingSteps(8, kept)
		if err != nil {
			r.t.Fatal(err)
		}
		writeSnapshot(r.t, in(name), run)
	}
}

// scripts are the programs of readers, by name.
var scripts = map[string]string{
	"train.py": `import argparse, torch
options = argparse.ArgumentParser()
options.add_argument("--batch-size", type=int, default=8)
batch = options.parse_args().batch_size
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).to(device)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(5):
    model(torch.randn(batch * 64, 1024, device=device)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
`,
	"detect.py": `import torch
scores = torch.rand(4096, device="cuda")
for step in range(3):
    boxes = torch.zeros((scores > 0.5).nonzero().shape[0], 4, device="cuda")
`,
}

// Words of pages that stand for something of the reader's.
var (
	anyPID  = regexp.MustCompile(`\[?PID(\|SOCKET)?\]?|\b4711\b|\$!`)
	meaning = strings.NewReplacer("FILE|PID", "FILE", "go run ./cmd/", "", "-o OUT", "-o out.html", "COMMAND", "report", "SHELL", "bash",
		"KEY=VALUE", "amp=bf16", "SETTINGS", "expandable_segments:True", "MODEL", "gpt2", "ADDRESS", "127.0.0.1:0", "manual FOLDER", "manual NEW")
	ofJobs = regexp.MustCompile(`--all-ranks|--job`)
	looks  = regexp.MustCompile(`^memtop (attach|set|advise|record|snapshot|metrics|ls)\b`)
)

// line returns what to type for a command of a page. It starts the program that the
// command is about, if none runs.
func (r *readerFolder) line(text string) (string, error) {
	text = meaning.Replace(text)
	if text == "memtop attach" {
		text += " PID" // on a reader's machine it is the only one
	}
	var err error
	switch {
	case ofJobs.MatchString(text) && !r.job:
		err = r.startJob()
	case r.pid == 0 && (looks.MatchString(text) || anyPID.MatchString(text)):
		err = r.start(exec.Command("memtrain", "--steps", "0", "--layers", "1", "--dim", "32", "--seq", "32", "--batch", "2")) //nolint:noctx // see start
	}
	return anyPID.ReplaceAllString(text, strconv.Itoa(r.pid)), err
}

// start starts a program that runs to the end of the page, and waits until it can be
// attached to and has made a step, or has ended.
func (r *readerFolder) start(cmd *exec.Cmd) error {
	cmd.Env = r.environment
	if cmd.Dir == "" {
		cmd.Dir = r.folder
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	r.over = ended
	go func() {
		_ = cmd.Wait() // its output says why
		close(ended)
	}()
	r.pid = cmd.Process.Pid
	r.ends = append(r.ends, func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	r.t.Setenv("MEMTOP_DIR", r.sockets)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(r.patience()); time.Now().Before(end); <-poll.C {
		select {
		case <-ended:
			return nil
		default:
		}
		client, err := attach.Dial(r.t.Context(), strconv.Itoa(r.pid), attach.DialOptions{})
		if err == nil {
			steps := len(client.Trace().Steps)
			_ = client.Close() // it was only looked at
			if steps > 0 || client.Process().Info != nil {
				return nil
			}
		}
	}
	return fmt.Errorf("the program in the background cannot be attached to: %s", said.String())
}

// has reports whether the launcher of a command is installed, if it needs one.
func (r *readerFolder) has(text string) bool {
	_, err := exec.LookPath("mpirun")
	return err == nil || !strings.HasPrefix(text, "mpirun ")
}

// patience is how long a command may take; a rehearsal imports PyTorch several times.
func (r *readerFolder) patience() time.Duration {
	if r.python != "" {
		return 5 * deadline
	}
	return deadline
}

// isOver waits until the program in the background has ended, as a reader's eyes do.
func (r *readerFolder) isOver() error {
	select {
	case <-r.over:
		return nil
	case <-time.After(r.patience()):
		return errors.New("the program that was killed has not ended")
	}
}

// startJob starts two ranks of a job.
func (r *readerFolder) startJob() error {
	r.job = true
	defer func(pid int, over chan struct{}) { r.pid, r.over = pid, over }(r.pid, r.over)
	for rank := range 2 {
		path, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.Command(path) //nolint:noctx // see start
		cmd.Args = []string{"ranked"}
		r.environment = append(r.environment, fmt.Sprintf("RANKED=train.py %d 2 %d", rank, 4+4*rank))
		if err := r.start(cmd); err != nil {
			return err
		}
	}
	return nil
}
