package pytorch

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/testing/tracetest"
)

// decodeBoth decodes a pickle as usual and with shapes turned off.
func decodeBoth(t *testing.T, pickle []byte) (usual, without *machine) {
	t.Helper()
	run := func(misses int) *machine {
		m := newMachine(context.Background(), bytes.NewReader(pickle), Options{Total: int64(len(pickle))})
		m.shape.misses, m.blockShape.misses = misses, misses
		t.Cleanup(m.release)
		if err := m.run(); err != nil {
			t.Fatal(err)
		}
		return m
	}
	return run(0), run(math.MaxInt)
}

func traceText(t *testing.T, m *machine) string {
	t.Helper()
	tr, err := m.finish()
	if err != nil {
		t.Fatal(err)
	}
	return tracetest.Text(t, tr)
}

// TestShapesChangeNothingButSpeed decodes real files with and without shapes:
// the traces are equal, and shapes read nearly every entry.
func TestShapesChangeNothingButSpeed(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			pickle, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			usual, without := decodeBoth(t, pickle)
			if traceText(t, usual) != traceText(t, without) {
				t.Error("the two traces differ")
			}
			if n := usual.log.Len(); n > 5000 && usual.shape.hits < n*3/4 {
				t.Errorf("shapes read %d of %d entries, want three quarters at least", usual.shape.hits, n)
			}
			if n := len(usual.blocks.chunks); n > 1 && usual.blockShape.hits < n*blockChunk/2 {
				t.Errorf("shapes read %d of some %d blocks, want half at least", usual.blockShape.hits, n*blockChunk)
			}
			if without.shape.hits+without.blockShape.hits > 0 {
				t.Error("the comparison used shapes as well")
			}
		})
	}
}

// TestAnEntryOfAnotherShapeIsReadTheOrdinaryWay puts an entry with other keys,
// one with a new string and one with a new stack among entries of one shape.
func TestAnEntryOfAnotherShapeIsReadTheOrdinaryWay(t *testing.T) {
	usual, without := decodeBoth(t, mixedShapes())
	if usual.shape.hits == 0 || usual.shape.misses == 0 {
		t.Fatalf("%d hits and %d misses, want both", usual.shape.hits, usual.shape.misses)
	}
	if got, want := traceText(t, usual), traceText(t, without); got != want {
		t.Errorf("with shapes:\n%s\nwithout:\n%s", got, want)
	}
}

// mixedShapes writes a pickle by hand: a list of traces whose entries mostly
// have one shape.
func mixedShapes() []byte {
	var b bytes.Buffer
	memo := 0
	put := func(s string) { b.WriteString(s) }
	memoize := func() int { put("\x94"); memo++; return memo - 1 }
	text := func(s string) int { put("\x8c" + string(rune(len(s))) + s); return memoize() }
	get := func(at int) { put("h" + string([]byte{byte(at)})) }
	put("\x80\x04}")
	memoize()
	put("(")
	text("device_traces")
	put("]")
	memoize()
	put("(]")
	memoize()
	put("(")
	var action, alloc, addr, size int
	for i := range 3000 {
		put("}")
		memoize()
		put("(")
		switch {
		case i == 0:
			action, alloc = text("action"), text("alloc")
			addr = text("addr")
			put("K\x01")
			size = text("size")
			put("K\x02")
		case i%500 == 7: // other keys
			get(size)
			put("M\x00\x02")
			get(action)
			text("oom")
		case i%500 == 9: // a string not seen before
			get(action)
			text("odd" + string(rune('a'+i/500)))
			get(addr)
			put("J\x00\x00\x00\x7f")
			get(size)
			put("K\x05")
		default:
			get(action)
			get(alloc)
			get(addr)
			put("\x8a\x05\x00\x00\x00" + string([]byte{byte(i), byte(i >> 8)}))
			get(size)
			put("M\x00\x02")
		}
		put("u")
	}
	put("eeu.")
	b.Write(make([]byte, 2*lookahead)) // room to look ahead, after STOP
	return b.Bytes()
}
