package main

import (
	"os"
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
)

func TestMain(m *testing.M) {
	probetest.WithoutBoxes()
	os.Exit(m.Run())
}
