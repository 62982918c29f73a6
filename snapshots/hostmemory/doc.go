// Package hostmemory says how much of this machine's memory a process may hope
// for: the machine's own, and what the control groups that the process is in
// allow, of version 1 and 2 and however deep they lie. Swap counts as none:
// what has to go there is too slow to be worth having.
//
// Where the system does not say, as outside Linux, nothing is known and nothing
// is refused for it.
package hostmemory
