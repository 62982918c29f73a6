package data

import (
	"testing"
)

func FuzzTokenFiles(f *testing.F) {
	for _, width := range []int{1, 2, 4} {
		f.Add(tokenFile(width, 1<<(8*width-1), 1, 2, 3, 255))
	}
	f.Add([]byte("a text"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tokens, err := interpret("file", raw)
		if err != nil {
			return
		}
		if tokens.Len() < 0 || tokens.Vocabulary() <= 0 {
			t.Fatalf("%d tokens of %d", tokens.Len(), tokens.Vocabulary())
		}
		// All of it can be read, or it is said why not.
		_ = tokens.Read(0, make([]byte, 4*tokens.Len()))
	})
}
