// Package remote leads to the programs of other machines, over what people have:
//
//	greeting  how a bridge makes itself known, after whatever the way there prints   (greeting.go)
//	serve     the far end, memtop bridge: listing and connecting, with attach's trust (serve.go)
//	way       commands that start a bridge elsewhere: ssh, srun                       (way.go, slurm.go)
//	link      one bridge that runs, and the connection to it                          (link.go, tunnel.go)
//	machine   an attach.Far that starts a bridge again when its link is lost          (machine.go)
//
// Both ends speak HTTP/2 over the standard input and output of a command, so one
// command carries any number of connections, none of which waits for another, and
// either end notices when the other has gone. A connection to a program is a stream
// that the far end joins to that program's socket: what goes through it is the
// protocol of docs/protocol.md, and nothing of it is looked at on the way.
//
// Neither end trusts the other with more than it needs: the far end serves what its
// own user may attach to, and this end takes texts that are printable and sizes
// that are bounded.
package remote
