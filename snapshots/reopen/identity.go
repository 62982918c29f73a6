package reopen

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Which entry is about which file
//
// An entry is named by the program's build, the file's size, and samples of its
// content, so that of all entries one at most is to be looked at. What it says is used
// in two cases only:
//
//   - The file is one that the content was read from, and nothing has touched it since:
//     device, inode, size and the times of its last change, of content and of
//     everything, are the same. The last cannot be set by a program, so a file that
//     was changed and given its old time is another one. A file that was changed less
//     than two seconds before it was read says nothing by its times: whatever changed
//     it may have done so once more at the same tick of the clock. No entry is made then.
//   - Its content has the same SHA-256, for which all of it is read: a copy, or a file that
//     was moved from elsewhere or only touched.

// identity is which file it is, and whether anything has touched it since.
type identity struct {
	Device, Inode           uint64
	Size, Modified, Changed int64 // times are nanoseconds since the epoch
}

// settled is how long a file must have stood still.
const settled = 2 * time.Second

// settledBefore reports whether the file stood still before a moment for so long that
// its times tell whether it was changed after.
func (i *identity) settledBefore(now time.Time) bool {
	last := max(i.Modified, i.Changed)
	return last < now.Add(-settled).UnixNano()
}

var errNotRegular = errors.New("it is no regular file")

// identify returns a file's identity.
func identify(f *os.File) (identity, error) {
	info, err := f.Stat()
	if err != nil {
		return identity{}, err
	}
	if !info.Mode().IsRegular() {
		return identity{}, errNotRegular
	}
	return identityOf(info)
}

const (
	samples     = 32
	sampleBytes = 4096
)

// name returns what the entry about a file is called.
func (c *Cache) name(f *os.File, size int64) (string, error) {
	h := sha256.New()
	h.Write([]byte(c.Build))
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(size)))
	b := make([]byte, sampleBytes)
	for k := range int64(samples) {
		n, err := f.ReadAt(b, (size-sampleBytes)/(samples-1)*k)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		h.Write(b[:n])
	}
	return hex.EncodeToString(h.Sum(nil)[:16]) + ending, nil
}

// contentOf returns the SHA-256 of all that is in a file.
func contentOf(ctx context.Context, f *os.File, size int64, progress trace.Progress) (sha [sha256.Size]byte, err error) {
	h := sha256.New()
	b := make([]byte, 1<<20)
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return sha, err
		}
		n, err := f.ReadAt(b[:min(int64(len(b)), size-at)], at)
		if err != nil && (!errors.Is(err, io.EOF) || n == 0) {
			return sha, err
		}
		h.Write(b[:n])
		at += int64(n)
		if progress != nil {
			progress(at, size)
		}
	}
	h.Sum(sha[:0])
	return sha, nil
}
