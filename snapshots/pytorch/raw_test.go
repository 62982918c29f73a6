package pytorch

import (
	"bytes"
	"testing"
)

func TestRunsThatAreRememberedCountAgainstTheBound(t *testing.T) {
	m := newMachine(t.Context(), bytes.NewReader(nil), Options{})
	t.Cleanup(m.release)
	before := m.free()
	m.raw.add(make([]byte, 1000), 1)
	if got := before - m.free(); got < 1000 {
		t.Errorf("a run of 1,000 bytes takes %d of what may still be allocated", got)
	}
}
