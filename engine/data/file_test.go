package data

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// tokenFile is a file of tokens of a width.
func tokenFile(width, vocabulary int, tokens ...uint32) []byte {
	order := binary.LittleEndian
	raw := order.AppendUint32([]byte(magic), version)
	raw = order.AppendUint32(raw, uint32(width))
	raw = order.AppendUint64(raw, uint64(vocabulary))
	raw = order.AppendUint64(raw, uint64(len(tokens)))
	for _, token := range tokens {
		raw = append(raw, order.AppendUint32(nil, token)[:width]...)
	}
	return raw
}

func TestTokenFilesAreRead(t *testing.T) {
	tests := map[string]struct {
		width, vocabulary int
		tokens            []uint32
	}{
		"bytes":             {1, 256, []uint32{0, 255, 7}},
		"two bytes a token": {2, 50_257, []uint32{50_256, 0, 1}},
		"four":              {4, 100_000, []uint32{99_999, 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := save(t, tokenFile(test.width, test.vocabulary, test.tokens...))
			checkTokens(t, path, test.vocabulary, test.tokens)
		})
	}
}

// checkTokens reads all of a file, and each token by itself.
func checkTokens(t *testing.T, path string, vocabulary int, want []uint32) {
	t.Helper()
	tokens, err := Open(path)
	fatal.If(t, err)
	defer closeTokens(t, tokens)
	if tokens.Len() != len(want) || tokens.Vocabulary() != vocabulary {
		t.Fatalf("%d tokens of %d, want %d of %d", tokens.Len(), tokens.Vocabulary(), len(want), vocabulary)
	}
	all, one := make([]byte, 4*len(want)), make([]byte, 4)
	fatal.If(t, tokens.Read(0, all))
	for i, token := range want {
		fatal.If(t, tokens.Read(i, one))
		if a, b := binary.LittleEndian.Uint32(all[4*i:]), binary.LittleEndian.Uint32(one); a != token || b != token {
			t.Errorf("token %d is %d among all and %d alone, want %d", i, a, b, token)
		}
	}
}

func TestUnusableFilesSayWhy(t *testing.T) {
	good := tokenFile(2, 1000, 1, 2, 3)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	tests := map[string]struct {
		content []byte
		want    string
	}{
		"nothing":                {nil, "empty"},
		"a picture":              {[]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), "neither a token file nor a text"},
		"half a header":          {good[:20], "ends early"},
		"a later version":        {change(8, 2), "version 2"},
		"tokens of three bytes":  {change(12, 3), "tokens of 3 bytes"},
		"no vocabulary":          {bytes.Clone(append(good[:16:16], make([]byte, 16)...)), "vocabulary of 0"},
		"a missing token":        {good[:len(good)-2], "3 tokens of 2 bytes"},
		"half of a token":        {good[:len(good)-1], "3 tokens of 2 bytes"},
		"more than it says":      {append(bytes.Clone(good), 1, 2), "3 tokens of 2 bytes"},
		"an impossible number":   {change(31, 0xff), "tokens of 2 bytes"},
		"an enormous vocabulary": {change(23, 0x7f), "vocabulary of"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := save(t, test.content)
			if _, err := Open(path); err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), path) {
				t.Errorf("got error %v, want one of %s that says %q", err, path, test.want)
			}
		})
	}
}

func TestTokensBeyondTheVocabularyAreRefused(t *testing.T) {
	tokens, err := Open(save(t, tokenFile(2, 1000, 1, 2, 0xff03)))
	fatal.If(t, err)
	defer closeTokens(t, tokens)
	if err := tokens.Read(0, make([]byte, 12)); err == nil || !strings.Contains(err.Error(), "vocabulary ends at 1000") {
		t.Errorf("got error %v, want one about the vocabulary", err)
	}
}

func TestTooShortTextsAreRefused(t *testing.T) {
	if _, err := NewWindows(Bytes("text", []byte("four")), 4); err == nil || !strings.Contains(err.Error(), "too few") {
		t.Errorf("got error %v, want one that says it is too short", err)
	}
}

func save(t *testing.T, content []byte) string {
	t.Helper()
	path := fatal.Write(t, "data", content)
	return path
}

func closeTokens(t *testing.T, tokens *Tokens) {
	t.Helper()
	fatal.If(t, tokens.Close())
}

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
