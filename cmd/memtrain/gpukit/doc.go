// Package gpukit is what proves the CUDA device on a machine that has nothing but
// an NVIDIA driver: `make gpu-kit` packs programs and tests beside its script,
// run.sh, which runs them there and prints one table. The package has no code of
// its own.
package gpukit
