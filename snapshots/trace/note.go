package trace

// Note holds what some events say beyond the common fields. Equal notes have the
// same number. Category, Layer, Role, Shape and DType are exact and come from our
// own engine (Category also from torch.profiler).
type Note struct {
	Action         StringID `json:"action,omitempty"` // its name, for kind Other
	CompileContext StringID `json:"compile_context,omitempty"`
	UserMetadata   StringID `json:"user_metadata,omitempty"`
	Category       StringID `json:"category,omitempty"`
	Layer          StringID `json:"layer,omitempty"`
	Role           StringID `json:"role,omitempty"`
	Shape          StringID `json:"shape,omitempty"`
	DType          StringID `json:"dtype,omitempty"`
	Pool           PoolID   `json:"pool,omitempty"`
	Forward        ListID   `json:"forward,omitempty"` // forward-pass stack of a backward allocation, formatted lines
	// Internal is what PyTorch's allocator says of an event of its own, as
	// AtAddress. Only snapshots have it, so it is no part of the wire's notes.
	Internal StringID `json:"internal,omitempty"`
}

// AtAddress is what PyTorch's allocator says of memory that was asked for at an
// address, and of the block before it, which it takes and frees to get there.
const AtAddress = "mallocWithAddress"

// Internal returns what PyTorch's allocator says of an event of its own, "" if
// nothing. Before PyTorch 2.15 that was where the program's metadata is.
func (t *Tables) Internal(id NoteID) string {
	n := &t.Notes[id]
	if s := t.String(n.UserMetadata); n.Internal == 0 && s == AtAddress {
		return s
	}
	return t.String(n.Internal)
}

// Label returns what the program itself calls memory, by PyTorch's metadata of it or an annotation; "" for nothing.
func (t *Tables) Label(id NoteID) string {
	if s := t.String(t.Notes[id].UserMetadata); s != AtAddress {
		return s
	}
	return ""
}

// NoteTexts are the names of a note's texts, as files spell them. All code that
// copies, sends, reads, writes or searches notes uses this list and Texts. Both
// have the same order, and the wire's protocol depends on it.
var NoteTexts = [...]string{
	"action", "compile_context", "user_metadata", "category", "layer", "role", "shape", "dtype",
}

// Texts returns the texts of n, in the order of NoteTexts, to be read or set.
func (n *Note) Texts() [len(NoteTexts)]*StringID {
	return [...]*StringID{
		&n.Action, &n.CompileContext, &n.UserMetadata, &n.Category, &n.Layer, &n.Role, &n.Shape, &n.DType,
	}
}
