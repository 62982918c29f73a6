package probe

import (
	"net/http"
	"time"
)

// paced writes an answer of any length to a peer that must keep reading. It cuts
// off a peer that takes less than a piece within the limit.
type paced struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	waited  time.Duration // in Write and Flush, so far
}

// piece is how many bytes a peer must take within the limit. Without pieces, a
// peer that reads steadily on a busy machine would lose a batch of many
// megabytes.
const piece = 64 << 10

func (p *service) newPaced(w http.ResponseWriter) *paced {
	return &paced{w: w, control: http.NewResponseController(w), limit: p.o.limits.reply}
}

// Write writes b, each piece within the limit.
func (p *paced) Write(b []byte) (written int, err error) {
	began := time.Now()
	defer func() { p.waited += time.Since(began) }()
	for err == nil && written < len(b) {
		n := 0
		if err = p.extend(); err == nil {
			n, err = p.w.Write(b[written:min(len(b), written+piece)])
		}
		written += n
	}
	return written, err
}

// Flush sends what was written, within the limit.
func (p *paced) Flush() error {
	began := time.Now()
	defer func() { p.waited += time.Since(began) }()
	if err := p.extend(); err != nil {
		return err
	}
	return p.control.Flush()
}

// extend starts the limit again from now.
func (p *paced) extend() error { return p.control.SetWriteDeadline(time.Now().Add(p.limit)) }
