package page

// Rival is the other open file, for comparison with this one.
type Rival struct {
	Name  string
	Own   string // the name of this file
	Scene *Scene // nil while it is not read
	First bool   // it is before this file in the list
	Why   string // why there is no Scene; "" while the file is being read
}

// ReadRival is the message that asks to read the rival.
type ReadRival struct{}
