package truthtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Told is what a program says of its own memory.
type Told struct {
	Changes []string          `json:"changes"` // it can run with these remedies: names of kinds of findings
	Expect  []string          `json:"expect"`  // findings that must be there
	Wrong   map[string]string `json:"wrong"`   // findings that must not be there, with the reason
	Holders []string          `json:"holders"` // functions whose lines hold most at the peak, in order
	Fits    *bool             `json:"fits"`    // whether memory was enough, null if that is not the question
	Devices []Device          `json:"devices"`
}

// Device is one device.
type Device struct {
	Number   int      `json:"device"`
	Peak     int64    `json:"peak"`     // requested bytes
	Reserved int64    `json:"reserved"` // at most, in bytes
	Capacity int64    `json:"capacity"` // bytes that the process could reserve at the end
	Moments  []Moment `json:"moments"`  // the first is the peak; the others are of steps
	Steps    []int64  `json:"steps"`    // the peak of each
}

// Moment has the blocks that are alive after an event.
type Moment struct {
	Event  int     `json:"event"`
	Blocks []Block `json:"blocks"`
}

// Block is memory in use.
type Block struct {
	Address    uint64
	Size       int64
	Categories []string // each of these is right
}

// UnmarshalJSON reads a list of the three.
func (b *Block) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &[]any{&b.Address, &b.Size, &b.Categories}); err != nil {
		return fmt.Errorf("a block: %w", err)
	}
	return nil
}

// Read reads what a program left in its folder.
func Read(folder string) (*Told, error) {
	text, err := os.ReadFile(filepath.Join(folder, "truth.json"))
	if err != nil {
		return nil, err
	}
	var told Told
	if err := json.Unmarshal(text, &told); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return &told, nil
}
