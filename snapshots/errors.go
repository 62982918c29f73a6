package snapshots

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/wire"
)

// CorruptError says that a file is damaged, is unsafe, or is not a memory
// snapshot.
type CorruptError struct {
	Path   string
	Within string // what the offset counts in, "" for the file itself
	Offset int64  // of the offending byte, -1 when it is the file as a whole
	Reason string
	Remedy string // what the reader of the message can do
}

func (e *CorruptError) Error() string {
	switch {
	case e.Offset < 0:
		return fmt.Sprintf("%s: %s", e.Path, e.Reason)
	case e.Within == "":
		return fmt.Sprintf("%s: byte %d: %s", e.Path, e.Offset, e.Reason)
	default:
		return fmt.Sprintf("%s: byte %d of %s: %s", e.Path, e.Offset, e.Within, e.Reason)
	}
}

const dumpAgain = "dump the snapshot again with torch.cuda.memory._dump_snapshot"

// corrupt returns an error about the file as a whole.
func (o *opening) corrupt(reason, remedy string) error {
	return &CorruptError{Path: o.path, Offset: -1, Reason: reason, Remedy: remedy}
}

// explain turns a decoder's error into an error that names the file. If a layer
// below the decoder failed, its error comes first: the decoder only saw the
// consequence.
func (o *opening) explain(err error) error {
	for _, l := range o.layers {
		if l.err == nil {
			continue
		}
		if l.name == "" {
			return fmt.Errorf("reading %s: %w", o.path, l.err)
		}
		damaged := &CorruptError{
			Path: o.path, Within: "its " + l.name + " contents", Offset: l.read,
			Reason: "it cannot be unpacked from there on", Remedy: "copy the file again; this one was damaged on its way",
		}
		if errors.Is(l.err, zstd.ErrWindowSizeExceeded) {
			damaged.Remedy = "unpack it with `zstd -d --long=31` first"
		}
		return damaged
	}
	if box := (*blackbox.CorruptError)(nil); errors.As(err, &box) {
		return o.decoded(box.Offset, box.Reason, box.Memory, "copy the black box again from where it lies")
	}
	var recording *wire.CorruptError
	if errors.As(err, &recording) {
		return o.decoded(recording.Offset, recording.Reason, recording.Memory, "copy the recording again from where it was made")
	}
	if version := (*wire.VersionError)(nil); errors.As(err, &version) {
		return fmt.Errorf("%s: %w", o.path, err)
	}
	var corrupt *pytorch.CorruptError
	if !errors.As(err, &corrupt) {
		return err
	}
	return o.decoded(corrupt.Offset, corrupt.Reason, corrupt.Memory, "get it again from where it was dumped; nothing in it was executed")
}

// decoded returns the error of a decoder, with its place.
func (o *opening) decoded(offset int64, reason string, memory bool, remedy string) error {
	if memory {
		remedy = "" // the reason names it
	}
	return &CorruptError{Path: o.path, Within: o.within(), Offset: offset, Reason: reason, Remedy: remedy}
}

// within names the innermost layer.
func (o *opening) within() string {
	last := o.layers[len(o.layers)-1]
	if last.name == "" {
		return ""
	}
	return "its " + last.name + " contents"
}
