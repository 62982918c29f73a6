package snapshots

import (
	"bufio"
	"bytes"
	"io"
	"regexp"

	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/wire"
)

// content is the kind of a stream, as its first bytes show it.
type content uint8

const (
	unknownContent content = iota
	emptyContent
	pickleContent
	gzipContent
	zstdContent
	jsonContent
	htmlContent
	recordingContent
	boxContent
	refusedContent // known, and not for us; see refusals
)

var containerNames = map[content]string{
	pickleContent: "pickle", gzipContent: "gzip", zstdContent: "zstd", jsonContent: "json", htmlContent: "html",
	recordingContent: "mtr", boxContent: "box",
}

// headBytes is how many bytes of a stream recognise looks at.
const headBytes = 4096

// refusal is a kind of file that people open by mistake.
type refusal struct {
	start, reason, remedy string
}

var refusals = []refusal{
	{
		"version https://git-lfs",
		"this is a git-lfs pointer; the snapshot itself was not downloaded",
		"run `git lfs pull` in the repository",
	},
	{
		"PK\x03\x04",
		"this is a zip archive, as torch.save writes, not a memory snapshot",
		"dump with torch.cuda.memory._dump_snapshot, or unzip it and open the data.pkl inside",
	},
	{"SQLite format 3\x00", "this is an SQLite database, not a memory snapshot", dumpAgain},
	{"\xfd7zXZ\x00", "this is xz-compressed", "unpack it with `xz -d` first"},
	{"BZh", "this is bzip2-compressed", "unpack it with `bzip2 -d` first"},
	{"\x7fELF", "this is a program, not a memory snapshot", dumpAgain},
}

// globalPickle matches the beginning of a protocol 0 pickle that names code.
var globalPickle = regexp.MustCompile(`^[ci][\w.]+\n[\w.]+\n`)

// answer matches the beginning of what memtop report --json prints of a snapshot or of several.
var answer = regexp.MustCompile(`^\s*\{\s*"schema":\s*"memtop\.(report|ranks)/`)

var refusedAnswer = refusal{
	reason: "this is what memtop report --json printed of a snapshot, and not a snapshot",
	remedy: "memtop report and memtop check compare it with those of other ranks",
}

// Answer returns the beginning of a file that memtop report --json printed, nil for any other file. If it cannot be
// read on, it ends there.
func Answer(path string, most int64) []byte {
	f, _ := openRegular(path)
	if f == nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read from
	r := bufio.NewReader(io.LimitReader(f, most))
	if head, _ := r.Peek(answerHead); !answer.Match(head) {
		return nil
	}
	text, _ := io.ReadAll(r)
	return text
}

// IsAnswer reports whether memtop report --json printed a file.
func IsAnswer(path string) bool { return Answer(path, answerHead) != nil }

// answerHead is how many bytes show that a file is an answer.
const answerHead = 128

// recognise tells the kind of a stream by its first bytes.
func recognise(head []byte) (content, *refusal) {
	if len(head) == 0 {
		return emptyContent, nil
	}
	for i := range refusals {
		if bytes.HasPrefix(head, []byte(refusals[i].start)) {
			return refusedContent, &refusals[i]
		}
	}
	switch {
	case wire.IsHeader(head):
		return recordingContent, nil
	case blackbox.IsHeader(head):
		return boxContent, nil
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzipContent, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}), // or a skippable frame, which parallel compressors write first
		len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], []byte{0x2a, 0x4d, 0x18}):
		return zstdContent, nil
	case head[0] == 0x80, bytes.IndexByte([]byte("(}])"), head[0]) >= 0, globalPickle.Match(head):
		// Protocols 2 and up begin with 0x80; 0 and 1 with a mark or an empty
		// container, none of which can begin JSON.
		return pickleContent, nil
	}
	switch text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"); {
	case len(text) == 0:
		return unknownContent, nil
	case answer.Match(text):
		return refusedContent, &refusedAnswer
	case text[0] == '{', text[0] == '[':
		return jsonContent, nil
	case text[0] == '<':
		return htmlContent, nil
	}
	return unknownContent, nil
}
