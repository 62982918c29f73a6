package snapshots

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"io"
)

// embedded returns the bytes of the base64 text of a JSON string up to its closing quote.
func embedded(in *bufio.Reader) io.Reader {
	return base64.NewDecoder(base64.StdEncoding, &quoted{in: in})
}

// quoted is the text of a JSON string without white space, and without the backslashes that
// some JSON writers put before slashes. It ends before the closing quote.
type quoted struct {
	in  *bufio.Reader
	end bool // the quote has been read
}

func (q *quoted) Read(p []byte) (n int, err error) {
	for !q.end {
		if _, err := q.in.Peek(1); err != nil {
			return 0, err
		}
		window, _ := q.in.Peek(min(q.in.Buffered(), len(p)))
		first := window[0]
		for _, c := range []byte("\" \t\r\n\\") {
			if at := bytes.IndexByte(window, c); at >= 0 {
				window = window[:at]
			}
		}
		n := copy(p, window)
		_, _ = q.in.Discard(max(n, 1)) // it is in the buffer
		if n > 0 {
			return n, nil
		}
		q.end = first == '"'
	}
	return 0, io.EOF
}
