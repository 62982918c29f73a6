// Package sensor is the end of the link to the agents that is outside of their
// programs: a process beside the job that does for an agent what can be done outside.
//
//	Host      accepts agents, one for each program, and ends with the last    (host.go)
//	link      one agent: its messages, and what it is asked                   (link.go)
//	reader    Python's marshal format, as far as messages need it             (marshal.go)
//	Start     starts a host process that outlives the caller                  (start_*.go)
//
// What an agent sends goes to a [probe.Relay], which keeps it and shows it to viewers.
// The agent is probe/python/memtop/link/queue.py. Both ends are one version: memtop ships
// them together. The link lies in the folder of the sockets, which is closed to
// other users, and the kernel says which process an agent is in.
package sensor
