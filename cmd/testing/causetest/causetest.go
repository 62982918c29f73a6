// Package causetest finds words of Go's own errors in a message, which only a
// programmer understands. Only tests use it.
package causetest

import "strings"

// jargon has words of Go's own errors.
var jargon = []string{
	"json:", "unmarshal", "invalid character", "unexpected end of JSON",
	"net/http", "http:", "HTTP/1.x", "Get \"", "Post \"", "malformed chunked", "malformed HTTP", "transport connection",
	"EOF", "context canceled", "context deadline", "deadline exceeded", "i/o timeout", "use of closed",
	"dial unix", "dial tcp", "read unix", "write unix", "connect:", "sendto", "recvfrom",
	"connection reset", "broken pipe", "connection refused",
	"strconv.", "time: ", "syscall", "errno", "exec:", "fork/exec", "gzip:", "flate:", "base64", "pflag",
	"%!", "&{", "map[", "<nil>", "0xc0", "goroutine", "runtime error", "panic", ".go:",
	"*errors", "Error{", "probe.", "wire.", "pytorch.",
}

// Jargon returns the first words of text that come from Go's own errors, "" if
// there are none.
func Jargon(text string) string {
	for _, word := range jargon {
		if strings.Contains(text, word) {
			return word
		}
	}
	return ""
}
