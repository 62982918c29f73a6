package page

// Rival is another file that is open, to be compared with.
type Rival struct {
	Name  string
	Own   string // the name of the file that is compared with it
	Scene *Scene // nil while it is not there
	First bool   // it stands before this file in the list
	Why   string // it is not there: "" while it is read
}

// ReadRival is the message that asks for the rival to be read.
type ReadRival struct{}
