package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"

	"github.com/google/go-cmp/cmp"
)

// traceOf returns the trace of a recording.
func traceOf(t testing.TB, recording []byte) *trace.Trace {
	t.Helper()
	tr, err := read(t, recording)
	fatal.If(t, err)
	return tr
}

// summed returns the session with another checksum.
func summed(t testing.TB, sum wire.Checksum) []byte {
	t.Helper()
	return written(t, func(e *wire.Encoder) {
		e.Checksum(sum)
		session(e)
	})
}

func TestStreamsOfEveryChecksumAreRead(t *testing.T) {
	want := asText(t, traceOf(t, summed(t, wire.CRC32C)))
	for name, sum := range map[string]wire.Checksum{"crc32c": wire.CRC32C, "": wire.CRC32C, "crc32": wire.CRC32, "none": wire.NoChecksum} {
		if got, ok := wire.ChecksumNamed(name); !ok || got != sum {
			t.Errorf("%q is checksum %d, want %d", name, got, sum)
		}
		if diff := cmp.Diff(want, asText(t, traceOf(t, summed(t, sum)))); diff != "" {
			t.Errorf("%q (-crc32c +%s):\n%s", name, name, diff)
		}
	}
	if _, ok := wire.ChecksumNamed("md5"); ok {
		t.Error("there is no md5 here")
	}
}

// TestTheChecksumIsThatOfZlib looks at the first frame.
func TestTheChecksumIsThatOfZlib(t *testing.T) {
	const header = 8
	stream := summed(t, wire.CRC32)
	length, n := binary.Uvarint(stream[header+1:])
	end := header + 1 + n + int(length)
	if got, want := binary.LittleEndian.Uint32(stream[end:]), crc32.ChecksumIEEE(stream[header:end]); got != want {
		t.Errorf("the checksum is %#x, want %#x", got, want)
	}
}

func TestDamageShowsInEveryChecksum(t *testing.T) {
	for _, sum := range []wire.Checksum{wire.CRC32C, wire.CRC32} {
		stream := summed(t, sum)
		stream[len(stream)/2] ^= 1
		_, err := wire.Read(t.Context(), bytes.NewReader(stream), wire.Options{})
		if corrupt := (*wire.CorruptError)(nil); !errors.As(err, &corrupt) || !strings.Contains(corrupt.Reason, "checksum") {
			t.Errorf("checksum %d: got %v", sum, err)
		}
	}
	stream := summed(t, wire.NoChecksum)
	stream[7] |= 0xc0
	_, err := wire.Read(t.Context(), bytes.NewReader(stream), wire.Options{})
	if corrupt := (*wire.CorruptError)(nil); !errors.As(err, &corrupt) || !strings.Contains(corrupt.Reason, "names an unknown checksum") {
		t.Errorf("an unknown checksum: got %v", err)
	}
}

// TestCopiesHaveTheChecksumThatAllKnow copies several streams, each with another checksum.
func TestCopiesHaveTheChecksumThatAllKnow(t *testing.T) {
	all := [][]byte{summed(t, wire.NoChecksum), summed(t, wire.CRC32), summed(t, wire.CRC32C), summed(t, wire.NoChecksum)}
	var copied bytes.Buffer
	c := wire.NewCopier(&copied, bytes.NewReader(bytes.Join(all, nil)), wire.Limits{})
	for err := error(nil); err == nil; {
		_, err = c.Next()
	}
	fatal.If(t, c.Bye("enough"))
	want := bytes.Repeat(summed(t, wire.CRC32C), len(all))
	if got := copied.Bytes(); !bytes.HasPrefix(got, want) {
		t.Error("a copy is not the same stream with checksums")
	} else if tr := traceOf(t, got); tr.Live.Note != "enough" {
		t.Errorf("the copy ends with %q", tr.Live.Note)
	}
}

// sum returns the checksum that follows a frame.
func sum(frame []byte) []byte {
	return binary.LittleEndian.AppendUint32(nil, crc32.Checksum(frame, crc32.MakeTable(crc32.Castagnoli)))
}
