package wire

// Buffered returns how many bytes were read from the reader and not yet decoded.
func (d *Decoder) Buffered() int { return d.r.Buffered() }
