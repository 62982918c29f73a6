package trace

// Category says what memory is used for.
type Category uint8

// The categories. OtherCategory also stands for an unknown category.
// Fragmentation is not a category: it is computed.
const (
	OtherCategory     Category = iota
	Parameter                  // weights, and buffers of modules
	Gradient                   // .grad of parameters, flat gradient buffers too
	Optimizer                  // moments, master weights, quantised state
	Activation                 // results of forward, kept for the backward pass
	BackwardTemporary          // gradients of activations and scratch of the backward pass
	Input                      // data and targets
	KVCache                    // keys and values of generation
	Workspace                  // scratch of libraries, and results that nothing saved
	Inference                  // results of forward without a graph
	GatheredParameter          // whole parameters that ranks divide, while one rank has all parts
	Communication              // what collectives send and receive: buckets, buffers of gathering and reducing
	CategoryCount     = int(iota)
)

// categories are the facts about each category, by its number. A new category
// needs its constant above, a line here, and its place in Categories.
var categories = [CategoryCount]struct {
	name      string
	purpose   string // see Purpose
	perSample bool   // see PerSample
	divided   bool   // see Divided
}{
	OtherCategory:     {name: "other", purpose: "other"},
	Parameter:         {name: "parameter", purpose: "parameters", divided: true},
	Gradient:          {name: "gradient", purpose: "gradients", divided: true},
	Optimizer:         {name: "optimizer", purpose: "optimizer state", divided: true},
	Activation:        {name: "activation", purpose: "activations", perSample: true},
	BackwardTemporary: {name: "backward-temporary", purpose: "backward temporaries", perSample: true},
	Input:             {name: "input", purpose: "inputs", perSample: true},
	KVCache:           {name: "kv-cache", purpose: "key-value cache", perSample: true},
	Workspace:         {name: "workspace", purpose: "workspace"},
	Inference:         {name: "inference", purpose: "inference", perSample: true},
	GatheredParameter: {name: "gathered-parameter", purpose: "gathered parameters"},
	Communication:     {name: "communication", purpose: "communication"},
}

// Categories are all categories, in the order in which charts stack them and
// tables list them.
var Categories = [CategoryCount]Category{
	Parameter, Gradient, Optimizer, Activation, BackwardTemporary, Input, KVCache, Workspace, Inference,
	GatheredParameter, Communication, OtherCategory,
}

// Place returns the category's place in Categories.
func (c Category) Place() int { return (int(c) + CategoryCount - 1) % CategoryCount }

// String returns the category's name as traces and reports write it.
func (c Category) String() string {
	return categories[c.known()].name
}

// MarshalText writes the name.
func (c Category) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Purpose returns the name of the category's memory in a row of a table.
func (c Category) Purpose() string { return categories[c.known()].purpose }

// PerSample reports whether memtop assumes that the category's bytes are
// proportional to the number of samples, or tokens, that a program computes with
// at once.
func (c Category) PerSample() bool { return categories[c.known()].perSample }

// Divided reports whether the ranks of a sharded job may divide the category's
// bytes among them.
func (c Category) Divided() bool { return categories[c.known()].divided }

func (c Category) known() Category {
	if int(c) < CategoryCount {
		return c
	}
	return OtherCategory
}

// otherNames are torch.profiler's names for our categories, where they differ
// from ours.
var otherNames = map[string]Category{
	"optimizer_state": Optimizer, "temporary": Workspace, "autograd_detail": BackwardTemporary, "unknown": OtherCategory,
}

// NamedCategory returns the category with a name that a writer noted, and whether
// the name is known. For an unknown name it returns OtherCategory. The names are
// our engine's and torch.profiler's.
func NamedCategory(name string) (Category, bool) {
	for _, c := range Categories {
		if c.String() == name {
			return c, true
		}
	}
	c, known := otherNames[name]
	return c, known
}

// ByCategory adds up amounts by category. The name of each amount is that of a
// category.
func ByCategory(amounts []Amount) (sums [CategoryCount]int64) {
	for _, a := range amounts {
		c, _ := NamedCategory(a.Name)
		sums[c] += a.Bytes
	}
	return sums
}
