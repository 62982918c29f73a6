package data

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// take returns a digest of each of n batches.
func take(t *testing.T, set Dataset, o LoaderOptions, n int) []string {
	t.Helper()
	l, err := NewLoader(set, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var got []string
	for range n {
		b, err := l.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestBatchesDoNotDependOnWorkers(t *testing.T) {
	sets := map[string]Dataset{
		"windows of the built-in text": windows(t, 33),
		"spirals":                      Spirals{Seed: 1, Features: 6, Classes: 3},
		"figures":                      Figures{Seed: 1, Channels: 1, Side: 12},
		"less than a batch":            few{5},
	}
	for name, set := range sets {
		t.Run(name, func(t *testing.T) {
			want := take(t, set, LoaderOptions{Batch: 7, Seed: 3}, 40)
			for _, workers := range []int{2, 3, 8} {
				got := take(t, set, LoaderOptions{Batch: 7, Seed: 3, Workers: workers, Prefetch: 3}, 40)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%d workers (-one +several):\n%s", workers, diff)
				}
			}
			resumed := take(t, set, LoaderOptions{Batch: 7, Seed: 3, Workers: 2, Start: 17}, 23)
			if diff := cmp.Diff(want[17:], resumed); diff != "" {
				t.Errorf("from batch 17 on (-whole +resumed):\n%s", diff)
			}
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

func TestOrdersOfEpochsDiffer(t *testing.T) {
	a, b, same := newOrder(1000, 9, 0), newOrder(1000, 9, 1), 0
	for i := range 1000 {
		if a.at(i) == b.at(i) {
			same++
		}
	}
	if same > 20 {
		t.Errorf("%d of 1000 samples are at the same place in two epochs", same)
	}
}

func TestTargetsAreTheNextTokens(t *testing.T) {
	set, err := NewWindows(Bytes("text", []byte("abcdef")), 3)
	if err != nil {
		t.Fatal(err)
	}
	b := newBatch(set.Spec(), 1, nil)
	if err := set.Read(2, b.sample(0)); err != nil {
		t.Fatal(err)
	}
	want := []byte("c\x00\x00\x00d\x00\x00\x00e\x00\x00\x00")
	if diff := cmp.Diff(want, b.Input); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
	want = []byte("d\x00\x00\x00e\x00\x00\x00f\x00\x00\x00")
	if diff := cmp.Diff(want, b.Target); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
	if set.Len() != 3 {
		t.Errorf("%d windows, want 3", set.Len())
	}
}

func TestCloseEndsWorkersThatWait(t *testing.T) {
	l, err := NewLoader(windows(t, 8), LoaderOptions{Batch: 2, Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // would never return if a worker did not
}

func TestAFailureIsToldWhereItHappens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(strings.Repeat("words ", 20_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeTokens(t, tokens)
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	set, err := NewWindows(tokens, 100)
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewLoader(set, LoaderOptions{Batch: 8, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3 {
		_, err := l.Next(t.Context())
		var format *FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), "cut while it was being read") {
			t.Fatalf("got %v, want a FormatError about the cut file", err)
		}
	}
}
