package probe

import "net/http"

func (p *Probe) serveStream(http.ResponseWriter, *http.Request) error {
	return statusf(http.StatusNotImplemented, "not yet")
}
