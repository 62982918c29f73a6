package attach

import (
	"os"
	"testing"

	"github.com/memtop/memtop/probe/protocol"
)

// TestMain has programs that tests kill leave no black boxes.
func TestMain(m *testing.M) {
	_ = os.Setenv(protocol.BlackBoxVariable, "off")
	os.Exit(m.Run())
}
