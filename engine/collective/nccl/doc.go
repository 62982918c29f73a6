// Package nccl connects the processes of a run through NCCL, NVIDIA's library of
// operations over several GPUs. It loads the library through purego; each process
// has one device.
//
// # Order
//
// Operations are queued on a stream beside the one that computes, and ordered with that
// by events: the host waits for none of them. What lies on the host goes through a
// buffer of the device, or by another group where the processes have one.
//
// # A process that ends
//
// On the GPUs of a machine an operation waits for its peers for ever. So each process
// watches: what NCCL reports of its network, and whether the processes of its own
// machine still run. When one has ended the device is failed first, so that nothing of
// what it computes from then on is believed, and then the communicator is aborted,
// which ends the operations under way.
//
// # Facts
//
// Functions, their arguments and the values of types are those of the NCCL User Guide
// (docs.nvidia.com/deeplearning/nccl/user-guide, chapters "NCCL API" and "Fault
// Tolerance") and of nccl.h, as they have been since version 2.14.
package nccl
