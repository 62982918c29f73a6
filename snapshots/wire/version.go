package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Version is the protocol's version. A reader refuses a stream of another
// version.
const Version = 1

// Minor grows when frames or fields are added that an older reader of the same
// version may skip.
const Minor = 2

// magic begins every stream; the version and the minor version follow. Its first
// byte is no frame type, and does not begin a pickle or a text. Its line ending
// shows when a file was transferred as text.
const magic = "\x8fmtr\r\n"

// Checksum is the kind of checksum in the frames of a stream.
type Checksum uint8

// The checksums. The upper bits of a header's last byte have their numbers.
const (
	CRC32C     Checksum = iota // Castagnoli's polynomial
	CRC32                      // zlib's polynomial
	NoChecksum                 // a local socket does not damage data
)

const (
	checksumShift = 6 // of a header's last byte
	minorMask     = 1<<checksumShift - 1
)

var checksumTables = [...]*crc32.Table{CRC32C: crc32.MakeTable(crc32.Castagnoli), CRC32: crc32.IEEETable}

// ChecksumNamed returns the checksum for the name in a viewer's request, and
// whether there is one. The empty name is CRC32C.
func ChecksumNamed(name string) (Checksum, bool) {
	c, ok := map[string]Checksum{"": CRC32C, "crc32c": CRC32C, "crc32": CRC32, "none": NoChecksum}[name]
	return c, ok
}

// size is how many bytes of each frame are the checksum.
func (c Checksum) size() int {
	if c == NoChecksum {
		return 0
	}
	return crc32.Size
}

// append appends the checksum of a frame to some bytes.
func (c Checksum) append(to, frame []byte) []byte {
	if c == NoChecksum {
		return to
	}
	return binary.LittleEndian.AppendUint32(to, crc32.Checksum(frame, checksumTables[c]))
}

// headerSize is the length of a stream's header.
const headerSize = len(magic) + 2

// IsHeader reports whether a stream or a recording, of any version, begins with
// these bytes. It also accepts one whose line ending was changed.
func IsHeader(head []byte) bool {
	return bytes.HasPrefix(head, []byte(magic[:4]))
}

// VersionError says that this program does not read a stream's version.
type VersionError struct {
	Theirs, Ours int
}

// Error says in one line which side to update.
func (e *VersionError) Error() string {
	older := "the other side; it is older"
	if e.Theirs > e.Ours {
		older = "this program; it is older"
	}
	return fmt.Sprintf("the stream has protocol version %d and this program reads version %d: update %s",
		e.Theirs, e.Ours, older)
}
