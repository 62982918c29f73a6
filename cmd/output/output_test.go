package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
)

// ways are the ways to write a file; each sets one up.
var ways = map[string]func(*testing.T){
	"without a name": func(*testing.T) {},
	"with a name": func(t *testing.T) {
		t.Helper()
		instead(t, func(string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported })
	},
	"without a name that it can be given": func(t *testing.T) {
		t.Helper()
		instead(t, func(folder string, mode fs.FileMode) (*os.File, error) {
			f, err := os.OpenFile(filepath.Join(folder, "gone"), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
			if err != nil {
				return nil, err
			}
			return f, os.Remove(f.Name()) // what had a name once is not linked again
		})
	},
}

func instead(t *testing.T, open func(string, fs.FileMode) (*os.File, error)) {
	t.Helper()
	before := unnamed
	unnamed = open
	t.Cleanup(func() { unnamed = before })
}

// inEveryWay runs a test in every way that a file can be written, each in a
// folder of its own.
func inEveryWay(t *testing.T, test func(t *testing.T, folder string)) {
	t.Helper()
	for name, set := range ways {
		t.Run(name, func(t *testing.T) {
			set(t)
			test(t, t.TempDir())
		})
	}
}

func saying(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// holds checks what all of a folder's files hold; links count as what they lead
// to.
func holds(t *testing.T, folder string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	fatal.If(t, err)
	got := make(map[string]string)
	for _, e := range entries {
		content := fatal.Read(t, filepath.Join(folder, e.Name()))
		got[e.Name()] = string(content)
	}
	equal.Values(t, "the folder's files", want, got)
}

func put(t *testing.T, path, content string, mode fs.FileMode) {
	t.Helper()
	fatal.If(t, os.WriteFile(path, []byte(content), mode), os.Chmod(path, mode))
}

func TestAFileIsWrittenAndReplaced(t *testing.T) {
	inEveryWay(t, func(t *testing.T, folder string) {
		t.Helper()
		path := filepath.Join(folder, "out")
		fatal.If(t, (File{Path: path}).Write(saying("first")))
		if err := (File{Path: path}).Write(saying("second")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("writing over a file: %v", err)
		}
		holds(t, folder, map[string]string{"out": "first"})
		put(t, path, "first", 0o666) // more than the mask lets a new file have
		fatal.If(t, (File{Path: path, Overwrite: true}).Write(saying("second")))
		holds(t, folder, map[string]string{"out": "second"})
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o666 {
			t.Errorf("its mode is %v, want that of the file before (%v)", info.Mode(), err)
		}
		fatal.If(t, (File{Path: filepath.Join(folder, "new"), Overwrite: true}).Write(saying("third")))
		holds(t, folder, map[string]string{"out": "second", "new": "third"})
	})
}

func TestANewFileHasTheModeThatTheUserWants(t *testing.T) {
	mask := syscall.Umask(0o027)
	defer syscall.Umask(mask)
	inEveryWay(t, func(t *testing.T, folder string) {
		t.Helper()
		path := filepath.Join(folder, "out")
		fatal.If(t, (File{Path: path}).Write(saying("x")))
		if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
			t.Errorf("its mode is %v, want 0640 (%v)", info.Mode(), err)
		}
	})
}

func TestAFailureLeavesWhatWasThere(t *testing.T) {
	refusal := errors.New("the process has ended")
	inEveryWay(t, func(t *testing.T, folder string) {
		t.Helper()
		path := filepath.Join(folder, "out")
		put(t, path, "first", 0o644)
		err := File{Path: path, Overwrite: true}.Write(func(w io.Writer) error {
			if _, err := w.Write(make([]byte, 3<<20)); err != nil {
				return err
			}
			return refusal
		})
		if !errors.Is(err, refusal) {
			t.Errorf("the failure was not told, but %v", err)
		}
		holds(t, folder, map[string]string{"out": "first"})
	})
}

func TestAFileThatAppearsWhileWritingStays(t *testing.T) {
	inEveryWay(t, func(t *testing.T, folder string) {
		t.Helper()
		path := filepath.Join(folder, "out")
		err := File{Path: path}.Write(func(w io.Writer) error {
			put(t, path, "another's", 0o644)
			return saying("ours")(w)
		})
		if !errors.Is(err, fs.ErrExist) {
			t.Errorf("the file that appeared was met with %v", err)
		}
		holds(t, folder, map[string]string{"out": "another's"})
	})
}

func TestLinksAreFollowed(t *testing.T) {
	inEveryWay(t, func(t *testing.T, folder string) {
		t.Helper()
		inner := filepath.Join(folder, "a", "b")
		fatal.If(t, os.MkdirAll(inner, 0o755))
		put(t, filepath.Join(inner, "old"), "old", 0o644)
		// The way leads through a folder that is a link, and up from where it leads.
		for name, target := range map[string]string{"ab": "a/b", "first": "second", "second": "ab/old", "ahead": "ab/../b/new"} {
			if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
				t.Skip("no links to be had: ", err)
			}
		}
		if err := (File{Path: filepath.Join(folder, "first")}).Check(); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a link to a file that is there: %v", err)
		}
		for name, text := range map[string]string{"first": "replaced", "ahead": "made"} {
			fatal.If(t, (File{Path: filepath.Join(folder, name), Overwrite: true}).Write(saying(text)))
			if _, err := os.Readlink(filepath.Join(folder, name)); err != nil {
				t.Errorf("the link is no more: %v", err)
			}
		}
		holds(t, inner, map[string]string{"old": "replaced", "new": "made"})
	})
}

func TestTheInputIsNeverReplaced(t *testing.T) {
	folder := t.TempDir()
	path, other := filepath.Join(folder, "in"), filepath.Join(folder, "other")
	put(t, path, "input", 0o644)
	if err := os.Link(path, other); err != nil {
		t.Skip("no links to be had: ", err)
	}
	for _, name := range []string{path, other, folder + "/../" + filepath.Base(folder) + "/in"} {
		err := File{Path: name, Overwrite: true, Inputs: Inputs("missing", path)}.Write(saying("output"))
		if want := name + " is the file that is being read"; err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	holds(t, folder, map[string]string{"in": "input", "other": "input"})
}

func TestAFailedWriteNamesTheUsersFile(t *testing.T) {
	f, err := os.Open(t.TempDir()) // which cannot be written to
	fatal.If(t, err)
	defer f.Close()
	_, err = writer{f, "out"}.Write([]byte("x"))
	var path *fs.PathError
	if !errors.As(err, &path) || path.Path != "out" {
		t.Errorf("got error %v, want one of out", err)
	}
}

func TestWhatIsNoFileIsWrittenToAsItIs(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no named pipe to be had: ", err)
	}
	read := make(chan string, 1) // written once
	go func() {
		content, _ := os.ReadFile(pipe)
		read <- string(content)
	}()
	fatal.If(t, (File{Path: pipe}).Write(saying("through")))
	if got := <-read; got != "through" {
		t.Errorf("the pipe gave %q", got)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("the pipe is %v (%v)", info.Mode(), err)
	}
}

func TestALongNameIsWritten(t *testing.T) {
	inEveryWay(t, func(t *testing.T, folder string) {
		t.Helper()
		name := strings.Repeat("n", 255)
		to := File{Path: filepath.Join(folder, name), Overwrite: true}
		for _, text := range []string{"first", "second"} {
			fatal.If(t, to.Write(saying(text)))
		}
		holds(t, folder, map[string]string{name: "second"})
	})
}

func TestAFileIsMadeForWhatIsOfUseBeforeItsEnd(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "out")
	for range 2 {
		f, err := File{Path: path, Overwrite: true}.Create()
		fatal.If(t, err)
		fatal.If(t, saying("begun")(f), f.Close())
	}
	if _, err := (File{Path: path}).Create(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("making it again: %v", err)
	}
	holds(t, folder, map[string]string{"out": "begun"})
}

func TestANameThatBecomesALinkIsNotFollowed(t *testing.T) {
	folder := t.TempDir()
	precious, name := filepath.Join(folder, "precious"), filepath.Join(folder, "out")
	put(t, precious, "precious", 0o644)
	tests := map[string]func(path string) error{
		"a file that is written": func(path string) error {
			return File{Path: path, Overwrite: true, Inputs: Inputs(precious)}.Write(saying("x"))
		},
		"a file that grows": func(path string) error {
			f, err := File{Path: path, Overwrite: true, Inputs: Inputs(precious)}.Create()
			if err != nil {
				return err
			}
			return errors.Join(saying("x")(f), f.Close())
		},
	}
	for test, write := range tests {
		t.Run(test, func(t *testing.T) {
			done := make(chan struct{})
			var exchanger sync.WaitGroup
			exchanger.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					put(t, name+"1", "mine", 0o644)
					fatal.If(t, errors.Join(os.Symlink(precious, name+"2"), os.Rename(name+"1", name), os.Rename(name+"2", name)))
				}
			})
			for range 400 {
				_ = write(name) // it may have been refused
			}
			close(done)
			exchanger.Wait()
			if got, err := os.ReadFile(precious); string(got) != "precious" {
				t.Errorf("the file that was never to be written holds %q (%v)", got, err)
			}
		})
	}
}

func TestWhatIsNoFileMayNotBecomeOne(t *testing.T) {
	folder := t.TempDir()
	pipe, precious := filepath.Join(folder, "pipe"), filepath.Join(folder, "precious")
	put(t, precious, "precious", 0o644)
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no named pipe to be had: ", err)
	}
	p, err := File{Path: pipe}.find()
	fatal.If(t, err, os.Remove(pipe), os.Symlink(precious, pipe))
	if err := p.writeTo(saying("x")); !errors.Is(err, errChanged) {
		t.Errorf("got error %v, want %v", err, errChanged)
	}
	holds(t, folder, map[string]string{"pipe": "precious", "precious": "precious"})
}

func TestALinkToNothingIsNotFollowedInASharedFolder(t *testing.T) {
	folder := t.TempDir()
	link := filepath.Join(folder, "out")
	fatal.If(t, os.Chmod(folder, 0o777|fs.ModeSticky), os.Symlink(filepath.Join(t.TempDir(), "new"), link))
	if err := (File{Path: link, Overwrite: true}).Write(saying("x")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got error %v, want %v", err, fs.ErrPermission)
	}
}

func TestAFileThatGrowsIsItsWritersAlone(t *testing.T) {
	folder := t.TempDir()
	to := File{Path: filepath.Join(folder, "out"), Overwrite: true}
	put(t, to.Path, "old", 0o644)
	old, err := os.Open(to.Path)
	fatal.If(t, err)
	defer old.Close()
	first, err := to.Create()
	fatal.If(t, err)
	for name, write := range map[string]func() error{
		"another that grows": func() error { _, err := to.Create(); return err },
		"a whole file":       func() error { return to.Write(saying("x")) },
	} {
		if err := write(); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: got error %v, want %v", name, err, ErrBusy)
		}
	}
	fatal.If(t, errors.Join(saying("first")(first), first.Close()))
	holds(t, folder, map[string]string{"out": "first"})
	if content, err := io.ReadAll(old); string(content) != "old" {
		t.Errorf("who reads the file from before reads %q (%v)", content, err)
	}
	fatal.If(t, to.Write(saying("x")))
}
