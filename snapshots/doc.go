// Package snapshots opens saved memory snapshots.
//
// [Open] recognises a file by its content, never by its name: a pickle of any
// protocol, JSON, the HTML pages that PyTorch's trace_plot saves, recordings of a
// running program (.mtr), and any of these under gzip or zstd. It unpacks the
// file as a stream, layer by layer, and passes the contents to the format's
// decoder, so that a file is never held in memory. It refuses any other file, and
// the error says what kind of file it is.
//
// The package knows only containers. The decoders, snapshots/pytorch and
// snapshots/wire, read the contents, and snapshots/trace defines what they mean.
package snapshots
