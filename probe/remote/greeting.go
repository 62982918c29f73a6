package remote

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Version is that of the bridge: what its two ends say to each other beside the
// protocol of programs.
const Version = 1

// greets begins the line with which a bridge makes itself known. What came before
// it was printed on the way: by the shell's start files, for example.
const greets = "\x8fmemtop bridge "

// maxNoise is how many bytes may come before the greeting.
const maxNoise = 64 << 10

// greet says that a bridge begins here.
func greet(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s%d\n", greets, Version)
	return err
}

var errNoise = errors.New("it sends something else than memtop bridge does")

// awaitGreeting reads until a bridge has made itself known, and returns its
// version.
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
