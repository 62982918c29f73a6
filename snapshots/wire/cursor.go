package wire

import "encoding/binary"

// cursor reads a payload. Past its end it returns zeros and sets short, so that
// one check of short is enough.
type cursor struct {
	b       []byte
	short   bool
	missing bool // a table entry was missing
}

// err returns why the payload is too short, nil if it is not.
func (c *cursor) err() error {
	switch {
	case c.missing:
		return errMissing
	case c.short:
		return errShort
	}
	return nil
}

func (c *cursor) fail() {
	c.b, c.short = nil, true
}

func (c *cursor) byte() byte {
	if len(c.b) == 0 {
		c.fail()
		return 0
	}
	b := c.b[0]
	c.b = c.b[1:]
	return b
}

func (c *cursor) number() uint64 {
	if len(c.b) > 0 && c.b[0] < 0x80 {
		n := c.b[0]
		c.b = c.b[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(c.b)
	if size <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[size:]
	return n
}

func (c *cursor) signed() int64 {
	n := c.number()
	return int64(n>>1) ^ -int64(n&1)
}

// count reads the number of following items, each of at least size bytes.
func (c *cursor) count(size int) int {
	n := c.number()
	if n > uint64(len(c.b)/size) {
		c.fail()
		return 0
	}
	return int(n)
}

// bytes returns a text, as a part of the payload.
func (c *cursor) bytes() []byte {
	n := c.count(1)
	text := c.b[:n]
	c.b = c.b[n:]
	return text
}
