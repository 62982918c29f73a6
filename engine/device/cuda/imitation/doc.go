// Package imitation is an imitated NVIDIA GPU: a library in C (folder library) that answers
// PyTorch's CUDA build where there is no GPU, so that PyTorch's own allocator shows what a
// program would take; the GPUs that it can be; and what it says of the processes that used
// it. See docs/rehearse.md.
//
// It computes nothing and moves no bytes but small ones: it is no device to train on. For
// the engine's own tests of its CUDA device there is package cudatest, which takes what a
// GPU has from the tables here; a test has the engine see the same of both.
//
// The library is built for Linux on amd64 and arm64 by `make imitation`, with zig of the
// version that built/MANIFEST names, and lies in built; a test holds its sources against the
// manifest, and `make imitation-check` builds it again and compares it byte for byte.
package imitation

//go:generate go run ../../../../cmd/tools/librarygen
