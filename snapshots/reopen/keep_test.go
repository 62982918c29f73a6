package reopen

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/tuitest"
)

// full is a disk that is full after so many bytes.
type full struct {
	to   io.Writer
	left int
}

func (f *full) Write(b []byte) (int, error) {
	n, err := f.to.Write(b[:min(f.left, len(b))])
	f.left -= n
	if err == nil && n < len(b) {
		err = syscall.ENOSPC
	}
	return n, err
}

func TestNothingIsLeftWhereTheDiskIsFull(t *testing.T) {
	path := sample(t)
	for name, test := range map[string]struct {
		change func(*Cache)
		want   error
	}{
		"before":        {func(c *Cache) { c.free = func(*os.Root) (int64, error) { return spareBytes, nil } }, ErrNoRoom},
		"at the begin":  {func(c *Cache) { c.to = func(w io.Writer) io.Writer { return &full{w, 0} } }, syscall.ENOSPC},
		"half way":      {func(c *Cache) { c.to = func(w io.Writer) io.Writer { return &full{w, 100_000} } }, syscall.ENOSPC},
		"by its bound":  {func(c *Cache) { c.Most = 1000 }, ErrTooLarge},
		"without bytes": {func(c *Cache) { c.Most = 0 }, ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCache(t)
			file, s := decode(t, c, path)
			test.change(c)
			if err := c.Keep(t.Context(), file, s); !errors.Is(err, test.want) {
				t.Errorf("keeping gives %v", err)
			}
			if left, err := filepath.Glob(filepath.Join(c.Folder, "*")); err != nil || len(left) > 0 {
				t.Errorf("left are %q, %v", left, err)
			}
			if left, err := filepath.Glob(filepath.Join(c.Folder, ".*")); err != nil || len(left) > 0 {
				t.Errorf("left are %q, %v", left, err)
			}
		})
	}
}

func TestAnEntryThatIsGivenUpLeavesNothing(t *testing.T) {
	c, path := newCache(t), sample(t)
	file, s := decode(t, c, path)
	ctx, cancel := context.WithCancel(t.Context())
	c.to = func(w io.Writer) io.Writer { cancel(); return w }
	if err := c.Keep(ctx, file, s); !errors.Is(err, context.Canceled) {
		t.Errorf("keeping gives %v", err)
	}
	if left, err := os.ReadDir(c.Folder); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestThoseThatWereNotUsedForLongestGoFirst fills a folder with files that look like
// entries and were used an hour after each other.
func TestThoseThatWereNotUsedForLongestGoFirst(t *testing.T) {
	c, path := newCache(t), sample(t)
	keep(t, c, path)
	own := filepath.Base(entry(t, c))
	const size = 40 << 20
	names := []string{"c", "a", "d", "b"}
	for k, name := range names {
		file := filepath.Join(c.Folder, name+ending)
		used := time.Now().Add(time.Duration(k-10) * time.Hour)
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Truncate(file, size), os.Chtimes(file, used, used)); err != nil {
			t.Fatal(err)
		}
	}
	hidden := filepath.Join(c.Folder, "."+own+".1.1")
	old := time.Now().Add(-2 * abandoned)
	if err := errors.Join(os.WriteFile(hidden, nil, 0o600), os.Chtimes(hidden, old, old)); err != nil {
		t.Fatal(err)
	}
	file, s := decode(t, c, path)
	c.Most = expected(s.Trace()) + 2*size // what the new one takes, and two more
	if err := c.Keep(t.Context(), file, s); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(c.Folder)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"b" + ending, "d" + ending, own}
	slices.Sort(want)
	if got := namesOf(left); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	if n, bytes, err := c.Size(); n != 3 || bytes <= 2*size || bytes > c.Most || err != nil {
		t.Errorf("%d entries of %d bytes, %v", n, bytes, err)
	}
}

func namesOf(all []os.DirEntry) []string {
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

// TestSeveralKeepAndReadAtOnce has writers replace an entry while readers open it: each
// reader finds a whole one.
func TestSeveralKeepAndReadAtOnce(t *testing.T) {
	c, path := newCache(t), sample(t)
	file, s := decode(t, c, path)
	if err := c.Keep(t.Context(), file, s); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for range 4 {
				if err := c.Keep(t.Context(), file, s); err != nil {
					t.Error("keeping:", err)
				}
			}
		})
		wait.Go(func() {
			for range 8 {
				if _, err := c.Open(t.Context(), path, nil); err != nil {
					t.Error("opening:", err)
				}
			}
		})
	}
	wait.Wait()
	wantSame(t, s, reopened(t, c, path))
}

// blocks notes how much is written at a time.
type blocks []int

func (b *blocks) Write(p []byte) (int, error) {
	*b = append(*b, len(p))
	return len(p), nil
}

func TestAnEntryIsWrittenInBlocks(t *testing.T) {
	s := &Source{trace: tuitest.Large(120_000), indexes: make(map[int]*analysis.Index), used: make(chan struct{})}
	var b blocks
	if err := (&Cache{}).writeEntry(t.Context(), &b, &head{}, s); err != nil {
		t.Fatal(err)
	}
	whole := b[:len(b)-1]
	if len(whole) < 2 || slices.ContainsFunc(whole, func(n int) bool { return n != blockBytes }) {
		t.Errorf("it is written in blocks of %d bytes", b)
	}
}

func TestAHeldAllocationWithAFlagThatIsNoneIsRefused(t *testing.T) {
	if _, err := heldOf([]held{{}, {FreeStack: 1}}); err != nil {
		t.Error(err)
	}
	if _, err := heldOf([]held{{}, {FreeStack: 2}}); !errors.Is(err, errDamaged) {
		t.Errorf("it gives %v", err)
	}
}
