package snapshots

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// Options limit the memory of [Open] and receive its progress. The zero value is
// useful.
type Options struct {
	// MaxMemory bounds the memory of the process in bytes. 0 means
	// trace.DefaultBound for the unpacked contents, and at most MostMemory.
	MaxMemory int64
	// Bounded receives the bound in bytes, which may grow as the file is read;
	// nil for none.
	Bounded func(bound int64)
	// Progress receives the bytes read of the stored file; nil for none.
	Progress trace.Progress
}

// StandardInput is the path that stands for standard input.
const StandardInput = "-"

// maxLayers bounds how often containers may be nested: gzip around an HTML page
// around a compressed pickle is three.
const maxLayers = 3

// Open reads the whole file at path and returns its trace. It blocks; if ctx is
// cancelled, it returns soon, with the context's error.
//
// The error is a *[CorruptError] if the file is damaged or unsafe, or if it
// changes while it is read; the operating system's error if the file cannot be
// opened; and a *[wire.VersionError] if a recording has another version of the
// protocol. A file that ends early is no error: Info.Truncated is set, and a
// notice says how much of the file is there.
func Open(ctx context.Context, path string, o Options) (trace.Source, error) {
	stored, err := openStored(ctx, path, o.Progress)
	if err != nil {
		return nil, err
	}
	defer stored.file.Close() // only read from, so there is nothing to lose
	opening := &opening{path: nameOf(path), options: o, stored: stored}
	t, err := opening.decode(ctx, "", stored)
	if changed := opening.changed(); changed != nil && ctx.Err() == nil {
		return nil, changed
	}
	if err != nil {
		return nil, opening.explain(err)
	}
	opening.describe(t)
	return file{t}, nil
}

// file is a trace that is complete.
type file struct{ trace *trace.Trace }

func (f file) Trace() *trace.Trace { return f.trace }

func (f file) Close() error { return nil }

// opening is one call of Open.
type opening struct {
	path    string
	options Options
	stored  *stored
	window  int64 // what unpacking keeps of what it unpacked
	layers  []*layer
	notices []string
	// container is what the file itself is, whatever is inside.
	container string
}

// decode makes a layer of that name from the stream r, recognises its kind, and
// unpacks or decodes it.
func (o *opening) decode(ctx context.Context, name string, r io.Reader) (*trace.Trace, error) {
	if len(o.layers) > maxLayers {
		return nil, o.corrupt(fmt.Sprintf("it is packed more than %d times over", maxLayers), "unpack it first")
	}
	l := &layer{name: name, r: r}
	o.layers = append(o.layers, l)
	head, err := l.peek()
	if err != nil {
		return nil, err
	}
	what, refused := recognise(head)
	if len(o.layers) == 1 {
		o.container = containerNames[what]
	}
	switch what {
	case pickleContent:
		return pytorch.Decode(ctx, l, o.decoding(l))
	case jsonContent:
		l.head = bytes.TrimPrefix(l.head, []byte("\xef\xbb\xbf")) // a byte order mark, which JSON decoders do not expect
		return pytorch.DecodeJSON(ctx, l, o.decoding(l))
	case recordingContent:
		return wire.Read(ctx, l, wire.Options{Bound: o.bounds(l, wire.DefaultBound), Total: o.total()})
	case boxContent:
		return o.box(ctx, l)
	case gzipContent:
		return o.gunzip(ctx, l)
	case zstdContent:
		return o.unzstd(ctx, l)
	case htmlContent:
		return o.page(ctx, l)
	case refusedContent:
		return nil, o.corrupt(refused.reason, refused.remedy)
	case emptyContent:
		return nil, o.corrupt("the file is empty: the process died while it was dumping, or the disk was full", dumpAgain)
	default:
		return nil, o.corrupt(fmt.Sprintf("this is not a memory snapshot: it begins with %.16q", head), dumpAgain)
	}
}

// box reads a black box. If the program has ended, box reads the file in place:
// the file has the full size that its header says, and may be mostly holes.
func (o *opening) box(ctx context.Context, l *layer) (*trace.Trace, error) {
	options := blackbox.Options{Bound: o.bounds(l, wire.DefaultBound)}
	if size := o.total(); size > 0 {
		if options.Held = blackbox.Held(o.stored.file); !options.Held {
			return blackbox.ReadAt(ctx, l, size, options)
		}
	}
	return blackbox.Read(ctx, l, options)
}

// decoding returns the decoder's options. Progress is counted at the file, so
// the decoder reports none.
func (o *opening) decoding(l *layer) pytorch.Options {
	return pytorch.Options{Bound: o.bounds(l, trace.DefaultBound), Total: o.total()}
}

// total returns how many bytes the innermost layer has, 0 when not known.
func (o *opening) total() int64 {
	if len(o.layers) == 1 {
		return o.stored.total
	}
	return 0
}

func (o *opening) gunzip(ctx context.Context, l *layer) (*trace.Trace, error) {
	r, err := gzip.NewReader(bufio.NewReaderSize(l, unpackBuffer))
	if err != nil {
		return nil, o.corrupt("the gzip header is damaged", "copy the file again")
	}
	return o.decode(ctx, "gzip", r)
}

// unpackBuffer is how much of a packed file is read at once.
const unpackBuffer = 256 << 10

// maxZstdWindow is what the zstd program accepts unasked.
const maxZstdWindow = 128 << 20

func (o *opening) unzstd(ctx context.Context, l *layer) (*trace.Trace, error) {
	window := uint64(maxZstdWindow)
	if o.options.MaxMemory > 0 {
		window = uint64(min(maxZstdWindow, max(zstd.MinWindowSize, o.options.MaxMemory/4)))
	}
	r, err := zstd.NewReader(l,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, o.corrupt("the zstd header is damaged", "copy the file again")
	}
	defer r.Close()
	o.window += int64(window)
	return o.decode(ctx, "zstd", r)
}

// describe fills in the facts that only the container knows.
func (o *opening) describe(t *trace.Trace) {
	t.Info.Path = o.path
	t.Info.Bytes = max(o.stored.total, o.stored.read)
	t.Info.Container = o.container
	if t.Info.Kind == "recording" && !t.Info.Truncated && slices.ContainsFunc(o.layers, func(l *layer) bool { return l.cut }) {
		// A snapshot marks its own end. A recording may end after any frame, so
		// it can look whole even if the container was cut.
		t.Info.Truncated = true
		t.Notices = append([]string{"the file ends within its " + o.container + " contents: what came after is not here"}, t.Notices...)
	}
	t.Notices = append(o.notices, t.Notices...)
}
