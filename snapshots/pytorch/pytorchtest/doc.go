// Package pytorchtest makes memory snapshots for tests: consistent traces of a
// small simulated caching allocator, their pickles as every writer of them
// writes them, and pickles that mean harm. Everything is made from a seed, so
// a failing test fails again. It is for tests only.
package pytorchtest
