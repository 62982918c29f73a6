package snapshots

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
)

// embedded decodes the base64 text of a JSON string up to its closing quote. It
// works like base64.NewDecoder, but in pieces as large as the buffer of in.
type embedded struct {
	in      *bufio.Reader
	text    []byte // read and not yet decoded; fewer than four characters
	decoded []byte // decoded and not yet handed out
	buf     []byte
	end     error // what to return once all is handed out
}

func (e *embedded) Read(p []byte) (int, error) {
	for len(e.decoded) == 0 {
		if e.end != nil {
			return 0, e.end
		}
		e.fill()
	}
	n := copy(p, e.decoded)
	e.decoded = e.decoded[n:]
	return n, nil
}

// fill decodes the text that the reader has buffered, at least one byte.
func (e *embedded) fill() {
	if _, err := e.in.Peek(1); err != nil {
		e.finish(err)
		return
	}
	window, _ := e.in.Peek(e.in.Buffered())
	quote := bytes.IndexByte(window, '"')
	used := len(window)
	if quote >= 0 {
		window, used = window[:quote], quote+1
	}
	e.text = appendCharacters(e.text, window)
	if _, err := e.in.Discard(used); err != nil {
		e.end = err
		return
	}
	if quote >= 0 {
		e.finish(io.EOF)
		return
	}
	whole := len(e.text) / 4 * 4
	e.decode(e.text[:whole])
	e.text = append(e.text[:0], e.text[whole:]...)
}

// finish decodes the rest. If the text ends within a group of four, it was cut
// off.
func (e *embedded) finish(err error) {
	e.end = err
	rest := e.text
	e.text = nil
	if len(rest)%4 != 0 {
		rest = rest[:len(rest)/4*4]
		if errors.Is(err, io.EOF) {
			e.end = io.ErrUnexpectedEOF
		}
	}
	e.decode(rest)
}

func (e *embedded) decode(text []byte) {
	if need := base64.StdEncoding.DecodedLen(len(text)); cap(e.buf) < need {
		e.buf = make([]byte, need)
	}
	n, err := base64.StdEncoding.Decode(e.buf[:cap(e.buf)], text)
	e.decoded = e.buf[:n]
	if err != nil {
		e.end = err
	}
}

// appendCharacters appends text without white space, and without the
// backslashes that some JSON writers put before slashes.
func appendCharacters(to, text []byte) []byte {
	for len(text) > 0 {
		i := bytes.IndexAny(text, " \t\r\n\\")
		if i < 0 {
			return append(to, text...)
		}
		to = append(to, text[:i]...)
		text = text[i+1:]
	}
	return to
}
