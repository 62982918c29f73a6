//go:build unix

package mapped

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

func TestAFileThatIsCutShortIsAnError(t *testing.T) {
	for name, touch := range map[string]func(page []byte) error{
		"reading":  func(page []byte) error { _ = append([]byte(nil), page...); return nil },
		"writing":  func(page []byte) error { page[0] = 1; return nil },
		"clearing": func(page []byte) error { clear(page); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			path, page := onePage(t)
			if err := Touch(page, func() error { return touch(page) }); err != nil {
				t.Fatalf("a whole file: %v", err)
			}
			fatal.If(t, os.Truncate(path, 0))
			if err := Touch(page, func() error { return touch(page) }); !errors.Is(err, ErrCut) {
				t.Errorf("a file that was cut: %v, want %v", err, ErrCut)
			}
		})
	}
}

// onePage maps a file of one page.
func onePage(t *testing.T) (path string, page []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "page")
	fatal.If(t, os.WriteFile(path, make([]byte, os.Getpagesize()), 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	fatal.If(t, err)
	defer f.Close()
	page, err = syscall.Mmap(int(f.Fd()), 0, os.Getpagesize(), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	fatal.If(t, err)
	t.Cleanup(func() { _ = syscall.Munmap(page) })
	return path, page
}

func TestOtherErrorsAndPanicsPass(t *testing.T) {
	own := errors.New("its own")
	if err := Touch(nil, func() error { return own }); !errors.Is(err, own) {
		t.Errorf("got %v, want %v", err, own)
	}
	path, other := onePage(t)
	fatal.If(t, os.Truncate(path, 0))
	for name, do := range map[string]func(){
		"another's memory":   func() { other[0] = 1 },
		"a panic of its own": func() { panic("its own") },
		"no memory at all":   func() { *(*int)(nil) = 1 }, // what a bug does
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it did not pass")
				}
			}()
			_ = Touch(make([]byte, 1), func() error { do(); return nil })
		})
	}
}

func TestAGoroutineMayEndInATouch(t *testing.T) {
	ended := make(chan any)
	go func() {
		defer func() { ended <- recover() }()
		_ = Touch(nil, func() error { runtime.Goexit(); return nil })
	}()
	if r := <-ended; r != nil {
		t.Errorf("it ended by the panic %v", r)
	}
}

func TestATouchAllocatesNothing(t *testing.T) {
	var to [2]int
	if n := testing.AllocsPerRun(100, func() { _ = Touch(nil, func() error { to[1]++; return nil }) }); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
