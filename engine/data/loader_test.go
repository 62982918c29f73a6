package data

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
)

// take returns a digest of each of n batches.
func take(t *testing.T, set Dataset, o LoaderOptions, n int) []string {
	t.Helper()
	l, err := NewLoader(set, o)
	fatal.If(t, err)
	defer l.Close()
	var got []string
	for range n {
		b, err := l.Next(t.Context())
		fatal.If(t, err)
		sum := sha256.Sum256(append(bytes.Clone(b.Input), b.Target...))
		got = append(got, fmt.Sprintf("%d %x", b.Number, sum[:4]))
		b.Release()
	}
	if want := o.Start + int64(n); l.Position() != want {
		t.Errorf("position %d after %d batches, want %d", l.Position(), n, want)
	}
	return got
}

func windows(t *testing.T, length int) Dataset {
	t.Helper()
	w, err := NewWindows(Corpus(), length)
	fatal.If(t, err)
	return w
}

func TestBatchesDoNotDependOnWorkers(t *testing.T) {
	sets := map[string]Dataset{
		"windows of the built-in text": windows(t, 33),
		"spirals":                      Spirals{Seed: 1, Features: 6, Classes: 3},
		"figures":                      Figures{Seed: 1, Channels: 1, Side: 12},
		"less than a batch":            few{5},
	}
	path := save(t, corpus)
	tokens, err := Open(path)
	fatal.If(t, err)
	defer closeTokens(t, tokens)
	sets["windows of a file"], err = NewWindows(tokens, 33)
	fatal.If(t, err)
	text := take(t, sets["windows of the built-in text"], LoaderOptions{Batch: 7, Seed: 3}, 40)
	for name, set := range sets {
		t.Run(name, func(t *testing.T) {
			want := take(t, set, LoaderOptions{Batch: 7, Seed: 3}, 40)
			if name == "windows of a file" && !cmp.Equal(text, want) {
				t.Error("they are not those of the same text in memory")
			}
			for _, workers := range []int{2, 3, 8} {
				got := take(t, set, LoaderOptions{Batch: 7, Seed: 3, Workers: workers, Prefetch: 3}, 40)
				equal.Values(t, fmt.Sprintf("%d workers", workers), want, got)
			}
			resumed := take(t, set, LoaderOptions{Batch: 7, Seed: 3, Workers: 2, Start: 17}, 23)
			equal.Values(t, "from batch 17 on", want[17:], resumed)
			if other := take(t, set, LoaderOptions{Batch: 7, Seed: 4}, 40); cmp.Equal(want, other) {
				t.Error("another seed gave the same batches")
			}
		})
	}
}

// few is a data set whose samples are their own numbers.
type few struct{ n int }

func (f few) Len() int { return f.n }

func (f few) Spec() Spec { return Spec{Input: Field{}, Target: Field{}, Classes: f.n} }

func (f few) Read(i int, into Sample) error {
	putInt(into.Input, int32(i))
	putInt(into.Target, int32(i))
	return nil
}

func TestAnEpochHasEverySampleOnce(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 64, 65, 1000, 4097} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			for epoch := range uint64(3) {
				o, seen := newOrder(n, 9, epoch), make([]bool, n)
				for i := range n {
					at := o.at(i)
					if seen[at] {
						t.Fatalf("epoch %d: sample %d comes twice", epoch, at)
					}
					seen[at] = true
				}
			}
		})
	}
}

func TestTargetsAreTheNextTokens(t *testing.T) {
	set, err := NewWindows(Bytes("text", []byte("abcdef")), 3)
	fatal.If(t, err)
	b := Empty(set.Spec(), 1)
	fatal.If(t, set.Read(2, b.sample(0)))
	want := []byte("c\x00\x00\x00d\x00\x00\x00e\x00\x00\x00")
	equal.Values(t, "input", want, b.Input)
	want = []byte("d\x00\x00\x00e\x00\x00\x00f\x00\x00\x00")
	equal.Values(t, "target", want, b.Target)
	if set.Len() != 3 {
		t.Errorf("%d windows, want 3", set.Len())
	}
}

// TestNoGoroutineIsLeftBehind runs in a bubble, which ends only when all goroutines in
// it have.
func TestNoGoroutineIsLeftBehind(t *testing.T) {
	for name, test := range map[string]struct {
		workers, prefetch, taken, kept int
	}{
		"that waits for a place":        {workers: 4},
		"that waits for a buffer":       {workers: 3, prefetch: 2, taken: 9, kept: 9},
		"of many, of which few are due": {workers: 64, taken: 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, err := NewLoader(windows(t, 8), LoaderOptions{Batch: 2, Workers: test.workers, Prefetch: test.prefetch})
				fatal.If(t, err)
				for i := range test.taken {
					b, err := l.Next(t.Context())
					fatal.If(t, err)
					if i >= test.kept {
						b.Release()
					}
				}
				synctest.Wait()
				l.Close()
			})
		})
	}
}

func TestAFailureIsToldWhereItHappens(t *testing.T) {
	path := fatal.Write(t, "text", []byte(strings.Repeat("words ", 20_000)))
	tokens, err := Open(path)
	fatal.If(t, err)
	defer closeTokens(t, tokens)
	fatal.If(t, os.Truncate(path, 10))
	set, err := NewWindows(tokens, 100)
	fatal.If(t, err)
	l, err := NewLoader(set, LoaderOptions{Batch: 8, Workers: 2})
	fatal.If(t, err)
	defer l.Close()
	for range 3 {
		_, err := l.Next(t.Context())
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), "cut while it was being read") {
			t.Fatalf("got %v, want a FormatError about the cut file", err)
		}
	}
}
