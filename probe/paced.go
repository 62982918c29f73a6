package probe

import (
	"net/http"
	"time"
)

// paced writes an answer of any length to a peer that must keep taking it: one
// that takes nothing for a while is cut off.
type paced struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	waited  time.Duration // in Write, so far
}

func (p *Probe) newPaced(w http.ResponseWriter) *paced {
	return &paced{w: w, control: http.NewResponseController(w), limit: p.o.limits.reply}
}

// Write writes b within the limit.
func (p *paced) Write(b []byte) (int, error) {
	began := time.Now()
	defer func() { p.waited += time.Since(began) }()
	if err := p.control.SetWriteDeadline(began.Add(p.limit)); err != nil {
		return 0, err
	}
	return p.w.Write(b)
}

// Flush sends what was written.
func (p *paced) Flush() error {
	began := time.Now()
	defer func() { p.waited += time.Since(began) }()
	return p.control.Flush()
}
