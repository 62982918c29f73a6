// Package hostledger measures from outside what a process and its workers have of the
// machine's memory, as the kernel counts it: in /proc, in the control group, and in the
// files of shared memory. What only the process knows, such as what its allocators hold,
// comes from its agent in the same gauge.
//
//	Ledger      a process over time: fills in gauges      (ledger.go)
//	status      what is resident of a process             (processes.go)
//	listing     the files in shared memory, whose they are (shared.go)
//
// The figures are raw: snapshots/analysis/host makes rows of them that add up.
package hostledger
