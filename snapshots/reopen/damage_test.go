package reopen

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
)

// replaced puts another content in an entry's place, as a rename would.
func replaced(t testing.TB, c *Cache, content []byte) {
	t.Helper()
	path := entry(t, c)
	if err := errors.Join(os.Remove(path), os.WriteFile(path, content, 0o400)); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedEntryIsIgnoredAndReplaced(t *testing.T) {
	c, path := newCache(t), sample(t)
	before := keep(t, c, path)
	whole, err := os.ReadFile(entry(t, c))
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReader(whole)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	flip := func(from, bytes int64) []byte {
		damaged := append([]byte{}, whole...)
		damaged[from+random.Int64N(bytes)] ^= 1 << random.IntN(8)
		return damaged
	}
	cases := map[string][]byte{
		"nothing": {}, "zeros": make([]byte, len(whole)), "half of it": whole[:len(whole)/2&^7], "all but a byte": whole[:len(whole)-1],
		"without its begin": whole[64:], "a text": []byte("this is no entry"),
	}
	end := int64(len(whole)) - footBytes
	cases["a bit of its foot"] = flip(end, footBytes-16)
	last := r.spans[len(r.spans)-1]
	cases["a bit of its table"] = flip(last.From+last.Bytes+alignment, end-last.From-last.Bytes-alignment)
	for _, s := range r.spans {
		if s.Bytes > 0 {
			cases["a bit of a section, "+string(rune('a'+len(cases)))] = flip(s.From, s.Bytes)
		}
	}
	for name, content := range cases {
		replaced(t, c, content)
		if _, err := c.Open(t.Context(), path, nil); !errors.Is(err, errDamaged) {
			t.Errorf("%s: opening gives %v", name, err)
		}
	}
	keep(t, c, path)
	wantSame(t, before, reopened(t, c, path))
	if again, err := os.ReadFile(entry(t, c)); err != nil || len(again) != len(whole) || bytes.Equal(again, whole) {
		t.Errorf("the entry was not replaced, %v", err)
	}
}
