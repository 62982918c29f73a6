package reopen

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/pytorch/pytorchtest"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// newCache returns a cache that is empty and takes files of any size.
func newCache(t testing.TB) *Cache {
	t.Helper()
	return &Cache{Folder: filepath.Join(t.TempDir(), "memtop", "indexes"), Build: "this one", Most: 1 << 30}
}

// decode reads a file, and looks at it first as if that were long after it was written.
func decode(t testing.TB, c *Cache, path string) (File, *Source) {
	t.Helper()
	file, worth := c.Look(path)
	if !worth {
		t.Fatalf("%s is not worth an entry", path)
	}
	file.seen = file.seen.Add(time.Hour)
	source, err := snapshots.Open(t.Context(), path, snapshots.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return file, Of(source)
}

// keep decodes a file and makes its entry.
func keep(t testing.TB, c *Cache, path string) *Source {
	t.Helper()
	file, s := decode(t, c, path)
	if err := c.Keep(t.Context(), file, s); err != nil {
		t.Fatalf("keeping %s: %v", path, err)
	}
	return s
}

func reopened(t testing.TB, c *Cache, path string) *Source {
	t.Helper()
	s, err := c.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatalf("opening %s again: %v", path, err)
	}
	return s
}

func TestAReopenedFileIsAsItWasDecoded(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c := newCache(t)
			before := keep(t, c, path)
			after := reopened(t, c, path)
			wantSame(t, before, after)
			if !after.Known || after.Made.IsZero() {
				t.Errorf("the entry knows the file: %t, made %s", after.Known, after.Made)
			}
		})
	}
}

// wantSame compares two sources, whole: traces by what they say and in a report, indexes by
// all that they are made of.
func wantSame(t *testing.T, before, after *Source) {
	t.Helper()
	a, b := before.Trace(), after.Trace()
	if diff := cmp.Diff(a.Info, b.Info); diff != "" {
		t.Error("info:", diff)
	}
	if diff := cmp.Diff(a, b, cmpopts.IgnoreFields(trace.Trace{}, "Tables"), cmpopts.IgnoreFields(trace.Device{}, "Events", "Replay"), cmpopts.EquateEmpty()); diff != "" {
		t.Error("trace:", diff)
	}
	if x, y := reportOf(t, a), reportOf(t, b); !bytes.Equal(x, y) {
		t.Error("report:", cmp.Diff(string(x), string(y)))
	}
	wantSameTables(t, a.Tables, b.Tables)
	for i := range a.Devices {
		d, e := &a.Devices[i], &b.Devices[i]
		for k := range d.Events.Len() {
			if *d.Events.At(k) != *e.Events.At(k) {
				t.Fatalf("event %d is %+v and was %+v", k, *e.Events.At(k), *d.Events.At(k))
			}
		}
		wantSameIndex(t, before.Index(d.ID), after.Index(d.ID))
	}
}

func wantSameTables(t *testing.T, a, b *trace.Tables) {
	t.Helper()
	x, errX := a.Flat()
	y, errY := b.Flat()
	if errX != nil || errY != nil {
		t.Fatal(errX, errY)
	}
	if diff := cmp.Diff(a, b, cmpopts.IgnoreUnexported(trace.Tables{}), cmpopts.EquateEmpty()); diff != "" {
		t.Error("tables:", diff)
	}
	if diff := cmp.Diff(x, y, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(trace.FlatTables{}, "FXFrames", "FXNumbers")); diff != "" {
		t.Error("tables:", diff)
	}
}

func wantSameIndex(t *testing.T, a, b *analysis.Index) {
	t.Helper()
	byNumber := cmpopts.SortSlices(func(a, b trace.NoteID) bool { return a < b })
	if diff := cmp.Diff(a.Flat(), b.Flat(), cmpopts.EquateEmpty(), byNumber); diff != "" {
		t.Error("index:", diff)
	}
	if diff := cmp.Diff(a.Lifetimes().Flat(), b.Lifetimes().Flat(), cmpopts.EquateEmpty()); diff != "" {
		t.Error("lifetimes:", diff)
	}
	if x, y := a.Summary(), b.Summary(); !reflect.DeepEqual(x, y) {
		t.Errorf("summary: %+v and was %+v", y, x)
	}
	if diff := cmp.Diff(a.Findings(), b.Findings()); diff != "" {
		t.Error("findings:", diff)
	}
	for at := -1; at <= a.End(); at += 1 + a.End()/7 {
		if x, y := a.RequestedAt(at), b.RequestedAt(at); x != y {
			t.Errorf("at %d: %d bytes and were %d", at, y, x)
		}
		if diff := cmp.Diff(a.SegmentsAt(at), b.SegmentsAt(at), cmpopts.IgnoreUnexported(analysis.Map{})); diff != "" {
			t.Errorf("map at %d: %s", at, diff)
		}
	}
}

func reportOf(t *testing.T, of *trace.Trace) []byte {
	t.Helper()
	text, err := json.Marshal(report.New(of))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// sample copies a real snapshot to a folder of the test's own.
func sample(t testing.TB) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(pytorchtest.SharedFolder(t), "step_fp32.torch2.5.pickle"))
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "snapshot.pickle")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// entry returns the path of the only entry.
func entry(t testing.TB, c *Cache) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(c.Folder, "*"))
	if err != nil || len(all) != 1 {
		t.Fatalf("the folder has %q, %v", all, err)
	}
	return all[0]
}

// TestAFileThatWasChangedIsNotShownAsItWas changes a file where no sample of it is taken,
// and gives it its old time.
func TestAFileThatWasChangedIsNotShownAsItWas(t *testing.T) {
	c, path := newCache(t), sample(t)
	keep(t, c, path)
	reopened(t, c, path)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	name := func() string {
		text, err := c.name(f, info.Size())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := name()
	at := (info.Size()-sampleBytes)/(samples-1) + sampleBytes + 10 // right after the second sample
	if _, err := f.WriteAt([]byte("changed"), at); err != nil {
		t.Fatal(err)
	}
	if name() != before {
		t.Fatal("the samples differ: the test is not about what it should be")
	}
	if err := errors.Join(f.Close(), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(t.Context(), path, nil); !errors.Is(err, ErrOther) {
		t.Errorf("opening the changed file gives %v", err)
	}
}

func TestACopyAndATouchedFileAreKnownByTheirContent(t *testing.T) {
	c, path := newCache(t), sample(t)
	keep(t, c, path)
	if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	read := int64(0)
	s, err := c.Open(t.Context(), path, func(at, _ int64) { read = at })
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || read != info.Size() || s.Known {
		t.Errorf("%d bytes were read to know the file, which is known: %t, %v", read, s.Known, err)
	}
	file, _ := c.Look(path)
	file.seen = file.seen.Add(time.Hour)
	if err := c.Keep(t.Context(), file, s); err != nil {
		t.Fatal(err)
	}
	if s := reopened(t, c, path); !s.Known || len(s.files) != 2 {
		t.Errorf("kept once more, the entry knows %d files, this one: %t", len(s.files), s.Known)
	}
}

func TestAFileThatWasJustWrittenIsNotKept(t *testing.T) {
	c, path := newCache(t), sample(t)
	file, s := decode(t, c, path)
	file.seen = file.seen.Add(-time.Hour)
	if err := c.Keep(t.Context(), file, s); !errors.Is(err, ErrRecent) {
		t.Errorf("keeping it gives %v", err)
	}
}

func TestAFileThatChangesWhileItIsKeptIsNotKept(t *testing.T) {
	c, path := newCache(t), sample(t)
	file, s := decode(t, c, path)
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := c.Keep(t.Context(), file, s); !errors.Is(err, ErrOther) {
		t.Errorf("keeping it gives %v", err)
	}
}

func TestTheEntryOfAnotherBuildIsNotUsed(t *testing.T) {
	c, path := newCache(t), sample(t)
	keep(t, c, path)
	other := *c
	other.Build = "another one"
	if _, err := other.Open(t.Context(), path, nil); !errors.Is(err, ErrNone) {
		t.Errorf("another build's entry gives %v", err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, _ := c.Look(path)
	name, err := other.name(f, file.id.Size)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(entry(t, c), filepath.Join(c.Folder, name)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Open(t.Context(), path, nil); !errors.Is(err, ErrOther) {
		t.Errorf("another build's entry under this one's name gives %v", err)
	}
}
