package data

import (
	"bytes"
	"testing"
)

func FuzzTokenFiles(f *testing.F) {
	for _, vocabulary := range []int{256, 50_257, 1 << 20} {
		var b bytes.Buffer
		if err := WriteTokens(&b, vocabulary, []uint32{1, 2, 3, 255}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("a text"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tokens, err := interpret("file", raw[:min(len(raw), headSize)], int64(len(raw)))
		if err != nil {
			return
		}
		tokens.source = memory(raw)
		if tokens.Len() < 0 || tokens.Vocabulary() <= 0 {
			t.Fatalf("%d tokens of %d", tokens.Len(), tokens.Vocabulary())
		}
		// All of it can be read, or it is said why not.
		_ = tokens.Read(0, make([]byte, 4*tokens.Len()))
	})
}
