package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Version is the version of the bridge's own protocol, which its two ends speak
// beside the programs' protocol.
const Version = 1

// greets is the begin of a bridge's greeting. Earlier output has another source,
// for example the shell's start files.
const greets = "\x8fmemtop bridge "

// maxNoise is how many bytes may come before the greeting.
const maxNoise = 64 << 10

// greet writes the greeting of a bridge.
func greet(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s%d\n", greets, Version)
	return err
}

var errNoise = errors.New("its output is not that of memtop bridge")

// awaitGreeting reads up to a bridge's greeting, and returns its version.
func awaitGreeting(r *bufio.Reader) (version int, err error) {
	for left := maxNoise; left > 0; {
		line, err := r.ReadSlice('\n')
		left -= len(line)
		if _, after, ok := bytes.Cut(line, []byte(greets)); ok && err == nil {
			number := bytes.TrimRight(after, "\r\n")
			if version, err := strconv.Atoi(string(number)); err == nil {
				return version, nil
			}
			return 0, errNoise
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, err
		}
	}
	return 0, errNoise
}
