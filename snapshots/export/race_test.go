//go:build race

package export_test

// raceEnabled says that everything is several times as slow.
const raceEnabled = true
