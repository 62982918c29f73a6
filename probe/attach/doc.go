// Package attach finds running programs that have a probe, and follows them:
//
//	discover   whose sockets are where, in containers too            (discover.go, procfs_linux.go, kind.go)
//	connect    what must be true before a byte is sent               (connect_linux.go)
//	asker      requests, and how long an answer may take             (request.go, answer.go)
//	client     a stream that becomes traces; reconnecting, restarts  (client.go, follow.go, successor.go)
//	recording  a stream that becomes a file                          (recording.go)
//	job        which processes are ranks of one job                  (job.go)
//
// It reads what the system knows about a process and never touches the process
// itself. A program may be broken or hostile: whatever it sends costs bounded
// memory and time, and a fault ends in one line that says what is wrong.
//
// The other side is package probe. This package does not import it: both share
// package protocol.
package attach
