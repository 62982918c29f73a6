// Package remote reaches the programs of other machines, over the connections
// that users already have:
//
//	greeting  how a bridge makes itself known, after whatever the way there prints   (greeting.go)
//	serve     the far end, memtop bridge: listing and connecting, with attach's trust (serve.go)
//	way       commands that start a bridge elsewhere: ssh, srun                       (way.go, slurm.go)
//	link      one bridge that runs, and the connection to it                          (link.go, tunnel.go)
//	machine   an attach.Far that starts a bridge again when its link is lost          (machine.go)
//
// Both ends speak HTTP/2 over the standard input and output of a command. So one
// command carries any number of independent connections, and each end notices
// when the other has gone. A connection to a program is a stream that the far end
// joins to that program's socket. It carries the protocol of docs/protocol.md,
// which neither end inspects.
//
// Neither end trusts the other more than necessary: the far end serves only
// programs to which its own user may attach, and this end makes texts printable
// and bounds all sizes.
package remote
