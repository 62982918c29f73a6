// Package pytorchtest makes memory snapshots for tests: consistent traces of the
// engine's allocator under a random program, their pickles in the encoding of every
// writer, and hostile pickles. Everything is made from a seed, so a failing test
// fails again. It is for tests only.
package pytorchtest
