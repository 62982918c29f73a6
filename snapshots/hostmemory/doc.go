// Package hostmemory says how much of this machine's memory a process can use:
// the free memory of the machine, and the limits of the process's control groups,
// of version 1 and 2 and at any depth. Swap does not count: it is too slow.
//
// If the system does not say, as outside Linux, the package reports no limit.
package hostmemory
