package alloc

// Category says which of the things that take memory in training a block is.
type Category uint8

// The categories. Fragmentation is not one of them: it is computed, see
// [Breakdown].
const (
	Other         Category = iota // not said
	Parameter                     // weights, and buffers of modules
	Gradient                      // .grad, and gradients on their way during the backward pass
	Optimizer                     // moments, master weights, quantised state
	Activation                    // what was saved for the backward pass
	Input                         // data and targets
	Workspace                     // scratch, and results that nobody saved
	CategoryCount = int(iota)
)

var categoryNames = [CategoryCount]string{
	"other", "parameter", "gradient", "optimizer", "activation", "input", "workspace",
}

// String returns the name that traces and reports use.
func (c Category) String() string {
	if int(c) < len(categoryNames) {
		return categoryNames[c]
	}
	return categoryNames[Other]
}
