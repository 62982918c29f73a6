package wire

import (
	"bytes"
	"fmt"
)

// Version is the protocol's version. A reader refuses a stream of another one.
const Version = 1

// Minor grows when frames or fields are added that an older reader of the same
// version may skip.
const Minor = 0

// magic begins every stream; the version and the minor version follow. Its
// first byte is no frame's type and no beginning of a pickle or a text, and its
// line ending shows when a file was transferred as text.
const magic = "\x8fmtr\r\n"

// headerSize is the length of a stream's header.
const headerSize = len(magic) + 2

// IsHeader reports whether a stream or a recording, of any version, begins with
// these bytes. It is enough that it was one before its line ending was changed.
func IsHeader(head []byte) bool {
	return bytes.HasPrefix(head, []byte(magic[:4]))
}

// VersionError says that a stream has another version than this program reads.
type VersionError struct {
	Theirs, Ours int
}

// Error is one line that says which side to renew.
func (e *VersionError) Error() string {
	older := "the other side; it is older"
	if e.Theirs > e.Ours {
		older = "this program; it is older"
	}
	return fmt.Sprintf("the stream has protocol version %d and this program reads version %d: update %s",
		e.Theirs, e.Ours, older)
}
