package pytorch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// smallBlocks makes a machine read ahead in small blocks and soon.
func smallBlocks(ctx context.Context, r io.Reader, o Options, workers int) *machine {
	m := newMachine(ctx, r, o)
	m.input.size, m.due, m.pause, m.workers = 3*lookahead, 50, 50, workers
	return m
}

// eager makes every block be read ahead by the machine's own goroutine, so that
// nothing depends on time.
func eager(m *machine) *machine {
	m.workers = 1
	m.input.crew = newCrew(m.input, 0)
	m.input.crew.eager = true
	return m
}

// outcome decodes and returns the trace as text, or the error.
func outcome(t *testing.T, m *machine) string {
	t.Helper()
	defer m.release()
	tr, err := m.decode()
	if err != nil {
		return fmt.Sprintf("%T %v", err, err)
	}
	return tracetest.Text(t, tr)
}

// compareAhead decodes with and without reading ahead and returns how many entries
// were adopted, and all that were read by shape.
func compareAhead(t *testing.T, pickle []byte, o Options) (adopted, hits int) {
	t.Helper()
	o.Total = int64(len(pickle))
	alone := smallBlocks(t.Context(), bytes.NewReader(pickle), o, 0)
	want := outcome(t, alone)
	ahead := eager(smallBlocks(t.Context(), bytes.NewReader(pickle), o, 1))
	if got := outcome(t, ahead); got != want {
		t.Errorf("reading ahead changes what is read:\n%.300s\nwithout:\n%.300s", got, want)
	}
	if want[0] != '*' && ahead.used != alone.used || ahead.shape.misses != alone.shape.misses {
		t.Errorf("it counts %d bytes and %d misses, without %d and %d", ahead.used, ahead.shape.misses, alone.used, alone.shape.misses)
	}
	without := smallBlocks(t.Context(), bytes.NewReader(pickle), o, 0)
	without.shape.misses, without.blockShape.misses = math.MaxInt, math.MaxInt
	workers := smallBlocks(t.Context(), bytes.NewReader(pickle), o, 3)
	for name, m := range map[string]*machine{"workers": workers, "without shapes": without} {
		if got := outcome(t, m); got != want && (m == workers || want[0] != '*') {
			t.Errorf("%s: it reads\n%.300s\nwithout:\n%.300s", name, got, want)
		}
	}
	if alone.shape.adopted > 0 {
		t.Error("the comparison read ahead as well")
	}
	return ahead.shape.adopted, ahead.shape.hits
}

// TestReadingAheadChangesNothingButSpeed decodes real files, and made ones.
func TestReadingAheadChangesNothingButSpeed(t *testing.T) {
	folder := os.Getenv("MEMTOP_SNAPSHOTS")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared", "snapshots")
	}
	paths, _ := filepath.Glob(filepath.Join(folder, "*.pickle"))
	pickles := map[string][]byte{"written by hand": manyEntries(nil), "random": randomPickle()}
	for _, path := range paths {
		pickle, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pickles[filepath.Base(path)] = pickle
	}
	for name, pickle := range pickles {
		t.Run(name, func(t *testing.T) {
			adopted, hits := compareAhead(t, pickle, Options{})
			t.Logf("%d of %d entries were read ahead", adopted, hits)
			if name == "written by hand" && adopted < hits/3 { // a third of such small blocks is not read ahead
				t.Errorf("%d of %d entries were adopted, want a third of them at least", adopted, hits)
			}
		})
	}
}

// randomPickle is a made snapshot of half a megabyte.
func randomPickle() []byte {
	v := pytorchtest.Value(pytorchtest.Random(pytorchtest.Options{Seed: 5, Operations: 6000}))
	return pytorchtest.PythonPickle(v, 4)
}

// manyEntries writes a pickle by hand: entries of one shape, each with a pool and a
// run of frames of its own. Before entry i, change may write something else.
func manyEntries(change func(b *bytes.Buffer, i int)) []byte {
	const entries = 12_000
	var b bytes.Buffer
	b.WriteString("\x80\x04}(")
	text := func(s string) { fmt.Fprintf(&b, "\x8c%c%s\x94", len(s), s) }
	for _, s := range []string{"action", "alloc", "addr", "size", "frames", "pool_id", "free_completed", "oom"} {
		text(s)
		b.WriteByte('0')
	}
	for i := range 40 { // frames, from memo entry 8 on
		fmt.Fprintf(&b, "}\x94(X\x08\x00\x00\x00filenameX\x01\x00\x00\x00aX\x04\x00\x00\x00lineK%cX\x04\x00\x00\x00nameX\x01\x00\x00\x00fu0", i)
	}
	b.WriteString("X\x0d\x00\x00\x00device_traces](](")
	for i := range entries {
		if change != nil {
			change(&b, i)
		}
		if i%1000 == 999 {
			b.WriteString("e(")
		}
		var run strings.Builder
		for f := range 5 + i%7 {
			run.WriteString("h" + string([]byte{byte(8 + f*3)}))
		}
		writeEntry(&b, i, run.String())
	}
	b.WriteString("eeu.")
	b.Write(make([]byte, 2*lookahead))
	return b.Bytes()
}

// writeEntry writes an entry, which has three memo entries of its own.
func writeEntry(b *bytes.Buffer, i int, run string) {
	b.WriteString("}\x94(h\x00h")
	b.WriteByte([]byte{1, 6}[i%2])
	b.WriteString("h\x02\x8a\x06")
	b.Write(binary.LittleEndian.AppendUint32(nil, uint32(i/2)<<9))
	b.WriteString("\x00\x7fh\x03M\x00\x02h\x05K\x00K")
	b.WriteByte(byte(i % 3))
	b.WriteString("\x86\x94h\x04]\x94(" + run + "eu")
}

// TestARunMayMeanSomethingElseLater puts a frame where an entry behind will have its
// own memo entry, and where nothing will be, and refers to both in runs, before and
// after something else is there.
func TestARunMayMeanSomethingElseLater(t *testing.T) {
	for name, at := range map[string]uint32{"overwritten by an entry": 3 * 5600, "overwritten on purpose": 3 * 40_000} {
		t.Run(name, func(t *testing.T) {
			index := string(binary.LittleEndian.AppendUint32(nil, at))
			pickle := manyEntries(func(b *bytes.Buffer, i int) {
				switch {
				case i == 5000:
					b.WriteString("h\x0br" + index + "0")
				case i == 6500 && at > 3*12_000:
					b.WriteString("h\x0er" + index + "0")
				case i > 5000 && i%3 == 0:
					writeEntry(b, i, "h\x08h\x0bj"+index)
				}
			})
			if adopted, _ := compareAhead(t, pickle, Options{}); adopted == 0 {
				t.Error("nothing was read ahead")
			}
		})
	}
}

// TestAMemoEntryMayMeanSomethingElseLater overwrites what entries refer to, while
// those behind have been read ahead.
func TestAMemoEntryMayMeanSomethingElseLater(t *testing.T) {
	for name, ops := range map[string]string{
		"the action becomes another":  "h\x07q\x010",
		"a frame becomes another":     "h\x0bq\x080",
		"a frame becomes a text":      "h\x07q\x080",
		"the pool's key becomes size": "h\x03q\x050",
		"a key that no entry uses":    "h\x03q\x300",
	} {
		t.Run(name, func(t *testing.T) {
			pickle := manyEntries(func(b *bytes.Buffer, i int) {
				if i > 5000 && i%1700 == 1690 {
					b.WriteString(ops)
				}
			})
			if adopted, _ := compareAhead(t, pickle, Options{}); adopted == 0 {
				t.Error("nothing was read ahead")
			}
		})
	}
}

// TestALaterEntryMayBeSetBeforeItsTurn puts something where an entry's own memo
// entry would be, so that the entry is not what comes from there.
func TestALaterEntryMayBeSetBeforeItsTurn(t *testing.T) {
	pickle := manyEntries(func(b *bytes.Buffer, i int) {
		if i%3000 == 2900 {
			b.WriteString("h\x07r")
			b.Write(binary.LittleEndian.AppendUint32(nil, uint32(3*i+100)))
			b.WriteString("0")
		}
	})
	compareAhead(t, pickle, Options{})
}

// TestReadingAheadIsRefusedAtTheSamePlace decodes with less and less memory.
func TestReadingAheadIsRefusedAtTheSamePlace(t *testing.T) {
	pickle := manyEntries(nil)
	for limit := int64(26 << 20); limit < 31<<20; limit += 237_000 {
		compareAhead(t, pickle, Options{Bound: trace.FixedBound(limit)})
	}
	compareAhead(t, pickle, Options{Bound: trace.Bound{Least: 24 << 20, PerByte: 4}})
}

// TestAFileThatEndsEarlyIsReadAheadToItsEnd cuts a file.
func TestAFileThatEndsEarlyIsReadAheadToItsEnd(t *testing.T) {
	pickle := manyEntries(nil)
	for _, n := range []int{len(pickle) / 2, len(pickle)/2 + 1, 3 * lookahead * 9, 3*lookahead*9 + 7} {
		compareAhead(t, pickle[:n], Options{})
	}
}

// TestNoWorkerOutlivesADecode ends decodes in every way while workers read ahead.
func TestNoWorkerOutlivesADecode(t *testing.T) {
	pickle := manyEntries(nil)
	damaged := bytes.Clone(pickle)
	damaged[len(pickle)/2] = 0xff
	broken := errors.New("the disk is broken")
	for name, c := range map[string]struct {
		reader func(cancel func()) io.Reader
		want   string
	}{
		"at the end":       {func(func()) io.Reader { return bytes.NewReader(pickle) }, ""},
		"at damage":        {func(func()) io.Reader { return bytes.NewReader(damaged) }, "*pytorch.CorruptError"},
		"at a read error":  {func(func()) io.Reader { return failing(pickle, broken) }, "*errors.errorString"},
		"at a cancelling":  {func(cancel func()) io.Reader { return cancelling(pickle, cancel) }, "*errors.errorString"},
		"where it is long": {func(func()) io.Reader { return io.MultiReader(bytes.NewReader(pickle), zeros{}) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // fails if a goroutine remains
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				m := smallBlocks(ctx, c.reader(cancel), Options{Total: 8 * int64(len(pickle))}, 3)
				_, err := m.decode()
				m.release()
				if got := fmt.Sprintf("%T", err); err != nil && got != c.want || err == nil && c.want != "" {
					t.Errorf("error %v (%s), want %q", err, got, c.want)
				}
				if m.input.crew == nil {
					t.Error("no one read ahead")
				}
			})
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func failing(pickle []byte, err error) io.Reader {
	return io.MultiReader(bytes.NewReader(pickle[:len(pickle)*2/3]), readerFunc(func([]byte) (int, error) { return 0, err }))
}

func cancelling(pickle []byte, cancel func()) io.Reader {
	return io.MultiReader(bytes.NewReader(pickle[:len(pickle)*2/3]), readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, nil
	}))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestAWorkersPanicIsTheMachines lets a worker find what cannot be.
func TestAWorkersPanicIsTheMachines(t *testing.T) {
	pickle := manyEntries(nil)
	m := smallBlocks(t.Context(), bytes.NewReader(pickle), Options{Total: int64(len(pickle))}, 0)
	defer m.release()
	m.fill()
	eager(m).input.crew.learn(&lexicon{runs: make([]rawRun, 1)}) // without what an entry begins with
	defer func() {
		if recover() == nil {
			t.Error("it was lost")
		}
	}()
	m.fill()
}

// FuzzReadAhead changes bytes of a pickle and decodes it with and without reading
// ahead. A patch is a place and a byte.
func FuzzReadAhead(f *testing.F) {
	bases := [][]byte{manyEntries(nil)[:400_000], randomPickle()}
	f.Add(uint8(0), []byte{})
	f.Add(uint8(1), []byte{0, 2, 0, 0, 'q', 1, 2, 0, 0, '}'})
	f.Fuzz(func(t *testing.T, base uint8, patches []byte) {
		pickle := bytes.Clone(bases[int(base)%len(bases)])
		for ; len(patches) >= 5; patches = patches[5:] {
			pickle[int(binary.LittleEndian.Uint32(patches))%len(pickle)] = patches[4]
		}
		compareAhead(t, pickle, Options{Bound: trace.FixedBound(64 << 20)})
	})
}
