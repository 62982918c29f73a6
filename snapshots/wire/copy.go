package wire

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// Copier copies a stream a whole frame at a time, so that what was written is a
// recording at any moment. Frames that this program does not know are copied
// like the others. It is owned by one goroutine.
type Copier struct {
	w     io.Writer
	r     *bufio.Reader
	limit int
	begun bool
	frame []byte
}

// NewCopier returns a copier from r to w. Of the limits only that of a frame is
// used.
func NewCopier(w io.Writer, r io.Reader, l Limits) *Copier {
	return &Copier{w: w, r: bufio.NewReaderSize(r, readBuffer), limit: l.filled().Frame}
}

// Next copies one frame, and a header that comes before it, and says what the
// frame was. For the errors see [Decoder.Next]; a frame with an error was not
// copied.
func (c *Copier) Next() (Type, error) {
	for {
		first, err := c.r.ReadByte()
		if err != nil {
			return 0, err // io.EOF here is the end
		}
		c.frame = append(c.frame[:0], first)
		switch {
		case first == magic[0]:
			err = c.header()
		case !c.begun || first == 0 || first > 0x7f:
			return 0, &CorruptError{Reason: "no frame begins where one should"}
		default:
			err = c.body()
		}
		if err != nil {
			return 0, unexpected(err)
		}
		if _, err := c.w.Write(c.frame); err != nil {
			return 0, err
		}
		if first != magic[0] {
			return Type(first), nil
		}
	}
}

// Bye ends the copy for a reason of the copier's own. Nothing may be copied
// after it but another stream.
func (c *Copier) Bye(reason string) error {
	e := Encoder{w: c.w, began: true}
	e.Bye(reason)
	return e.Flush()
}

func (c *Copier) header() error {
	if err := c.read(headerSize - 1); err != nil {
		return err
	}
	if !IsHeader(c.frame) {
		return &CorruptError{Reason: "the header is damaged"}
	}
	if theirs := int(c.frame[len(magic)]); theirs != Version {
		return &VersionError{Theirs: theirs, Ours: Version}
	}
	c.begun = true
	return nil
}

// body reads the rest of a frame and compares its checksum.
func (c *Copier) body() error {
	length, err := binary.ReadUvarint(c.r)
	switch {
	case err != nil:
		return err
	case length > uint64(c.limit):
		return &CorruptError{Reason: "a frame that is too long"}
	}
	c.frame = binary.AppendUvarint(c.frame, length)
	if err := c.read(int(length) + checksumSize); err != nil {
		return err
	}
	end := len(c.frame) - checksumSize
	if crc32.Checksum(c.frame[:end], castagnoli) != binary.LittleEndian.Uint32(c.frame[end:]) {
		return &CorruptError{Reason: "the checksum of a frame does not fit: it was damaged"}
	}
	return nil
}

// read appends n bytes to the frame. The length is only a claim: memory is
// taken as bytes arrive.
func (c *Copier) read(n int) error {
	for n > 0 {
		part := min(n, max(readBuffer, len(c.frame)))
		at := len(c.frame)
		c.frame = append(c.frame, make([]byte, part)...)
		if _, err := io.ReadFull(c.r, c.frame[at:]); err != nil {
			return err
		}
		n -= part
	}
	return nil
}
