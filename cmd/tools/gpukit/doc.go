// Package gpukit is what proves the CUDA device on a machine that has nothing but
// an NVIDIA driver: `make gpu-kit` packs programs and tests beside its script,
// run.sh, which runs them there, in parts of limited time, and prints one table; what
// the parts do is in parts.sh. The package has no code of its own.
package gpukit
