package probe

import (
	"net/http/httptest"
	"testing"
	"time"
)

// deadlined is an answer that notes how much is written under one deadline.
type deadlined struct {
	*httptest.ResponseRecorder
	since, most int
}

func (d *deadlined) SetWriteDeadline(time.Time) error {
	d.since = 0
	return nil
}

func (d *deadlined) Write(b []byte) (int, error) {
	d.since += len(b)
	d.most = max(d.most, d.since)
	return d.ResponseRecorder.Write(b)
}

func TestAPeerThatReadsSteadilyHasTimeForEachPiece(t *testing.T) {
	d := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	const size = 10*piece + 1
	n, err := (&Probe{}).newPaced(d).Write(make([]byte, size))
	if n != size || err != nil || d.Body.Len() != size {
		t.Errorf("wrote %d, %v; %d arrived, want %d", n, err, d.Body.Len(), size)
	}
	if d.most > piece {
		t.Errorf("%d bytes under one deadline, want at most %d", d.most, piece)
	}
}
