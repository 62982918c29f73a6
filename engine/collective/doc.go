// Package collective has the operations that the processes of one run do
// together: they sum, scatter, gather and broadcast arrays. Each process has one
// device. It has no protocol of its own. The processes are started by mpirun,
// Slurm or torchrun, and meet by a library of the system: MPI for what lies on
// the host, NCCL for what lies on GPUs.
//
// It knows nothing of training: which arrays are summed, and when, is for package
// train to say.
//
// Every process must do the same operations in the same order. Sums are in an order
// that is the library's, fixed for a number of processes and a length.
package collective
