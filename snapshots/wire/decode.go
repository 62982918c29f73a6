package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/memtop/memtop/snapshots/trace"
)

// Limits bound how much a peer can make a [Decoder] hold. The zero value is
// useful: a field that is 0 means the default in its comment.
type Limits struct {
	Frame  int   // bytes of one frame: 16 MiB, which is also the most
	Tables int64 // bytes of all names, stacks and notes together that are kept: 256 MiB
	Blocks int   // of one base, segments and earlier tenants among them: 1,048,576
	// Snapshot bounds the bytes of memory of a PyTorch snapshot and its decoded
	// form: 384 MiB.
	Snapshot int64
	// Message bounds the bytes of memory that one message of JSON takes: 64 MiB.
	Message int64
}

// frameLimit is the largest payload that the protocol allows.
const frameLimit = 16 << 20

// blocksLimit bounds the blocks of a base.
const blocksLimit = 1 << 20

// jsonLimit bounds the frames that are JSON, which takes more memory than its
// text.
const jsonLimit = 4 << 20

func (l Limits) filled() Limits {
	if l.Frame <= 0 || l.Frame > frameLimit {
		l.Frame = frameLimit
	}
	if l.Tables <= 0 {
		l.Tables = 256 << 20
	}
	if l.Blocks <= 0 {
		l.Blocks = blocksLimit
	}
	if l.Snapshot <= 0 {
		l.Snapshot = 384 << 20
	}
	if l.Message <= 0 {
		l.Message = 64 << 20
	}
	return l
}

// CorruptError says where a stream is damaged or breaks the protocol.
type CorruptError struct {
	Offset int64 // of the frame, or of the byte where a frame should begin
	Reason string
	// Zeros says that only zeros follow, as after a power cut.
	Zeros bool
	// Memory says that the data needs more memory than the limits allow.
	Memory bool
	// Rule is the rule of docs/protocol.md that is broken, by its label; "" if the
	// frames are readable but contradict each other.
	Rule string
}

// Error is one line.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("byte %d of the stream: %s", e.Offset, e.Reason)
}

// Decoder reads a stream, or several one after another. It is owned by one
// goroutine.
type Decoder struct {
	r       *bufio.Reader
	limits  Limits
	in      *trace.Interner
	ids     ids
	blocks  int    // of the current base
	numbers int64  // how many entries of tables came since the header
	offset  int64  // of the next byte to read
	begin   int64  // of the current frame
	frame   []byte // the current header or frame, as received
	payload []byte // the frame's payload
	events  []trace.Event
	batch   []trace.Step
	parts   snapshotParts
	sum     Checksum // of the frames
	begun   bool     // a header was read
	hello   bool     // and the frame after it
}

// readBuffer is how much is read at once.
const readBuffer = 64 << 10

// NewDecoder returns a decoder of r, which begins with a header. It interns names
// in its own tables, see Tables.
func NewDecoder(r io.Reader, l Limits) *Decoder {
	in := trace.NewInterner()
	in.Bound(l.filled().Tables)
	return newDecoder(r, l, in)
}

// newDecoder returns a decoder that adds to existing, bounded tables.
func newDecoder(r io.Reader, l Limits, in *trace.Interner) *Decoder {
	return &Decoder{r: bufio.NewReaderSize(r, readBuffer), limits: l.filled(), in: in}
}

// Tables returns the current tables, to which states and events refer. The view
// never changes.
func (d *Decoder) Tables() trace.Tables { return d.in.View() }

// Next returns the next frame that this program knows. At the end of the stream
// the error is io.EOF; within a frame it is io.ErrUnexpectedEOF. Data that is no
// stream, or a damaged one, is a *[CorruptError]; a stream of another version is
// a *[VersionError]. After an error there is no next frame.
func (d *Decoder) Next() (Frame, error) {
	for {
		t, err := d.read()
		if err != nil {
			return Frame{}, err
		}
		if t == 0 || t >= typeEnd {
			continue
		}
		f, err := d.decode(t)
		if err != nil {
			return Frame{}, d.unfit(t, err, t.layoutRule())
		}
		return f, nil
	}
}

func (d *Decoder) corrupt(rule, format string, values ...any) error {
	return &CorruptError{Offset: d.begin, Rule: rule, Reason: fmt.Sprintf(format, values...)}
}

// tooMuchError says that a frame needs more memory than the limits allow.
type tooMuchError struct{ reason string }

func (e tooMuchError) Error() string { return e.reason }

func tooMuch(format string, values ...any) error { return tooMuchError{fmt.Sprintf(format, values...)} }

// read reads a header, which gives type 0, or one frame.
func (d *Decoder) read() (Type, error) {
	d.begin = d.offset
	first, err := d.r.ReadByte()
	if err != nil {
		return 0, err // io.EOF here is the end
	}
	d.offset++
	d.frame = append(d.frame[:0], first)
	switch {
	case first == magic[0]:
		return 0, d.header()
	case !d.begun:
		return 0, d.corrupt("F1", "this is not a memtop stream: it begins with byte %#02x", first)
	case first == 0:
		return 0, &CorruptError{Offset: d.begin, Zeros: true, Rule: "F2", Reason: "there are zeros where a frame should be"}
	case first > 0x7f:
		return 0, d.corrupt("F2", "%#02x is not a type of a frame", first)
	}
	length, err := d.length()
	if err != nil {
		return 0, err
	}
	return Type(first), d.body(length)
}

// header reads the rest of a header. Numbers of tables begin anew after it.
func (d *Decoder) header() error {
	var rest [headerSize - 1]byte
	n, err := io.ReadFull(d.r, rest[:])
	d.offset += int64(n)
	d.frame = append(d.frame, rest[:n]...)
	if err != nil {
		return unexpected(err)
	}
	if string(rest[:len(magic)-1]) != magic[1:] {
		return d.corrupt("F1", "the header is damaged, as if the file was transferred as text")
	}
	if theirs := int(rest[len(magic)-1]); theirs != Version {
		return &VersionError{Theirs: theirs, Ours: Version}
	}
	if d.sum = Checksum(rest[len(magic)] >> checksumShift); d.sum > NoChecksum {
		return d.corrupt("F5", "the header names an unknown checksum")
	}
	d.begun, d.hello, d.numbers, d.parts = true, false, 0, snapshotParts{}
	d.ids.reset()
	return nil
}

// unexpected returns err, with io.EOF inside a frame as io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (d *Decoder) length() (int, error) {
	n := uint64(0)
	for shift := 0; ; shift += 7 {
		b, err := d.r.ReadByte()
		if err != nil {
			return 0, unexpected(err)
		}
		d.offset++
		d.frame = append(d.frame, b)
		n |= uint64(b&0x7f) << shift
		if n > uint64(d.limits.Frame) || shift > 28 {
			return 0, &CorruptError{
				Offset: d.begin, Rule: "F2", Reason: fmt.Sprintf("a frame of more than %d bytes", d.limits.Frame), Memory: n <= frameLimit,
			}
		}
		if b < 0x80 {
			return int(n), nil
		}
	}
}

// body reads the rest of a frame and compares its checksum. The length is only
// a claim: memory is taken as bytes arrive.
func (d *Decoder) body(length int) error {
	head := len(d.frame)
	for missing := length + d.sum.size(); missing > 0; {
		at := len(d.frame)
		n := min(missing, max(readBuffer, at))
		d.frame = append(d.frame, make([]byte, n)...)
		got, err := io.ReadFull(d.r, d.frame[at:])
		d.offset += int64(got)
		if err != nil {
			return unexpected(err)
		}
		missing -= n
	}
	end := head + length
	if !bytes.Equal(d.sum.append(nil, d.frame[:end]), d.frame[end:]) {
		return d.corrupt("F5", "the checksum of a frame of %d bytes does not fit: it was damaged", length)
	}
	d.payload = d.frame[head:end]
	return nil
}
