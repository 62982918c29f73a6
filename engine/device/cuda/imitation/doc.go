// Package imitation imitates an NVIDIA GPU for PyTorch. A library in C (folder
// library) answers PyTorch's CUDA build on a machine without a GPU, so that
// PyTorch's own allocator shows how much memory a program would take. The package
// also has the catalogue of GPUs that can be imitated, and reads the library's
// reports on processes. See docs/rehearse.md.
//
// The imitation computes nothing and moves only small amounts of bytes, so it is
// not a device to train on. The engine's own tests of its CUDA device use package
// cudatest, which takes the properties of GPUs from the tables here. A test
// checks that the engine sees the same GPU in both.
//
// Package prebuilt says how the library is built.
package imitation

//go:generate go run ../../../../cmd/tools/librarygen -name libmemtop-imitation.so
