package wire_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/memtop/memtop/snapshots/wire"
)

// TestARunningProgramMayHoldOnlySoManyBlocks has a state that a recording may have, and
// that with what a screen makes of it would take a viewer's gigabyte.
func TestARunningProgramMayHoldOnlySoManyBlocks(t *testing.T) {
	const most = 1 << 18 // of which the segment is one
	for name, test := range map[string]struct {
		blocks  int
		memory  int64
		refused bool
	}{
		"as many as there may be":         {most - 1, 0, false},
		"one more":                        {most, 0, true},
		"one more of them in a recording": {most, 1 << 30, false},
	} {
		t.Run(name, func(t *testing.T) {
			stream := wire.NewStream(bytes.NewReader(framesOf(wire.BaseFrame, slowBase(test.blocks))), wire.StreamOptions{Memory: test.memory})
			_, err := stream.Advance()
			for err == nil {
				_, err = stream.Advance()
			}
			var corrupt *wire.CorruptError
			if refused := errors.As(err, &corrupt) && corrupt.Memory; refused != test.refused {
				t.Errorf("it ends with %v, want it refused for its memory: %v", err, test.refused)
			}
		})
	}
}
