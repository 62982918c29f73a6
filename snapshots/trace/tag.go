package trace

// Tag says what the live memory at an address is for.
type Tag struct {
	Addr uint64
	Note NoteID
}
