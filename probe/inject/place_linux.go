package inject

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/python"
	"github.com/memtop/memtop/probe/sensor"
)

// place is the folder of the agent for a program, with the script that the program will run.
type place struct {
	root           *os.Root // the folder, open
	script, answer string   // their paths as the program sees them
	files          []string // the files to remove at the end
	host           string   // the path of the socket of the agent's host
}

// prepare writes the agent to where the program finds it: the folder of the agent's socket,
// which belongs to the program's user.
func (t *task) prepare(ctx context.Context) (*place, error) {
	var failed []error
	for _, folder := range t.Folders {
		root, err := python.Open(t.Root, folder)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		made, err := newPlace(ctx, root, folder)
		if err == nil {
			return made, nil
		}
		_ = root.Close() // it was of no use
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("there is no folder for the agent: %w", errors.Join(failed...))
}

func newPlace(ctx context.Context, root *os.Root, folder string) (*place, error) {
	agent, err := python.Unpack(root)
	if err != nil {
		return nil, err
	}
	clean(root)
	name := prefix + rand.Text()
	p := &place{root: root, script: filepath.Join(folder, name+".py"), answer: filepath.Join(folder, name)}
	agent = filepath.Join(folder, agent)
	if p.host, err = sensor.Start(ctx, folder, 0); err != nil {
		return nil, err
	}
	for file, text := range map[string]string{name + ".py": script(agent, p.answer, p.host), name: ""} {
		p.files = append(p.files, file)
		if err := root.WriteFile(file, []byte(text), 0o600); err != nil {
			p.clear()
			return nil, err
		}
	}
	return p, nil
}

// prefix begins the names of files that are removed at the end. If this memtop is killed, the
// next one removes them after leftAfter.
const (
	prefix    = "start-"
	leftAfter = time.Hour
)

// clean removes the files that killed memtops have left.
func clean(root *os.Root) {
	left, _ := fs.Glob(root.FS(), prefix+"*") // the pattern is good
	for _, name := range left {
		if info, err := root.Lstat(name); err == nil && time.Since(info.ModTime()) > leftAfter {
			_ = root.Remove(name) // another memtop may have removed it
		}
	}
}

// script returns a script that starts the agent in a folder. Whatever happens in it, the
// program's own names and its standard error stay unchanged.
func script(agent, answer, host string) string {
	return fmt.Sprintf(`try:
    path = %s
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec")
    names = {"__name__": "memtop.start.loading"}
    exec(code, names)
    names["start_beside"](%s, %s, %s)
except BaseException:
    pass
`, literal(filepath.Join(agent, "memtop", "start", "loading.py")), literal(agent), literal(answer), literal(host))
}

// literal returns a path as a Python expression.
func literal(path string) string {
	return fmt.Sprintf(`bytes.fromhex("%x").decode("utf-8", "surrogateescape")`, path)
}

// clear removes the files; without them the program does nothing more.
func (p *place) clear() {
	for _, file := range p.files {
		_ = p.root.Remove(file) // the program may be gone, and its folder with it
	}
	_ = p.root.Close() // nothing is open in it
	sensor.Dismiss(p.host)
}

// said returns the contents of the answer's file. The program may have replaced the file, so
// this reads a limited length, and only from a regular file.
func (p *place) said() ([]byte, error) {
	file, err := p.root.OpenFile(filepath.Base(p.answer), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close() // it was only read
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("the agent's answer is not a file"))
	}
	return io.ReadAll(io.LimitReader(file, maxPrinted))
}

const (
	answerWithin = 15 * time.Second
	answerLook   = 20 * time.Millisecond
)

// await waits until the program reports whether the agent has started.
func (p *place) await(ctx context.Context, t *task) error {
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	look := time.NewTicker(answerLook)
	defer look.Stop()
	for {
		text, err := p.said()
		switch {
		case err != nil:
			return err
		case string(text) == "ok":
			return nil
		case len(text) > 0:
			return &FailedError{Cause: t.Name + " has no agent: " + string(text)}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return &FailedError{
				Cause: fmt.Sprintf("%s did not run the agent within %v: its main thread is in a call that does not return to Python", t.Name, answerWithin),
			}
		}
		if _, err := attach.Look(t.PID); err != nil {
			return err // it has ended
		}
	}
}
