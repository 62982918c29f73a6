// Package gpukit tests the CUDA device on a machine that has only an NVIDIA
// driver. `make gpu-kit` packs programs and tests together with the script
// run.sh. The script runs them on that machine, in parts of limited time, and
// prints one table; parts.sh defines the parts. The package has no Go code of its
// own.
package gpukit
