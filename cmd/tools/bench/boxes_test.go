package main

import (
	"os"
	"testing"

	"github.com/memtop/memtop/probe/probetest"
)

func TestMain(m *testing.M) {
	probetest.WithoutBoxes()
	os.Exit(m.Run())
}
