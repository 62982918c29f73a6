// Package snapshots opens saved memory snapshots.
//
// [Open] recognises a file by its content, never by its name: a pickle of any
// protocol, JSON, the HTML pages that PyTorch's trace_plot saves, recordings of
// a running program (.mtr), and any of these under gzip or zstd. It unpacks the
// file as a stream, layer by layer, and hands what is inside to the format's
// decoder, so that a file is never held in memory. Files that are something else
// are refused with a word on what they are.
//
// The package knows containers. What is in them is the decoders' business
// (snapshots/pytorch, snapshots/wire), and what it means is snapshots/trace's.
package snapshots
