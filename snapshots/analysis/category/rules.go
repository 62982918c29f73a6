package category

import "github.com/memtop/memtop/snapshots/trace"

// Strength is the kind of evidence that a rule uses.
type Strength uint8

// The strengths, weakest first.
const (
	Unknown Strength = iota // nothing applies
	Counted                 // sizes, and how many there are of each
	Placed                  // where and when it was made, as other things may be
	Lived                   // a stack, with the time and the stack of the free
	Stacked                 // the stack names the maker
	Exact                   // the writer noted it
)

// String returns the strength in a word or two.
func (s Strength) String() string {
	return [...]string{"none", "sizes", "place", "lifetime", "stack", "noted"}[s]
}

// MarshalText writes the word.
func (s Strength) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Rule is the number of a rule.
type Rule uint8

// The rules. Each gives one category; see table.
const (
	NoRule Rule = iota
	noStack
	heldUnknown
	noted
	libraryWorkspace
	workspaceSize
	moduleMoved
	moduleBuilt
	weightsGathered
	bucketMade
	exchanged
	collected
	bucketViewed
	constructorMade
	replacedInStep
	heldWeight
	knownShape
	accumulated
	gradientBuffer
	gradientMoved
	outlivesBackward
	freedByZeroGrad
	heldGradient
	optimizerState
	weightsCopied
	ownWeight
	outlivesStep
	dropsInStep
	heldMoment
	heldState
	graphKept
	graphUnused
	graphOpen
	freedByEngine
	recomputed
	heldResult
	likeActivation
	backwardScratch
	backwardOpen
	dataLoaded
	scriptMade
	heldBatch
	cacheMade
	noGraph
	noGradMade
	resultKept
	heldOutput
	ruleCount = int(iota)
)

// rule is one row of the table.
type rule struct {
	category trace.Category
	strength Strength
	name     string
}

var table = [ruleCount]rule{
	NoRule:           {trace.OtherCategory, Unknown, "no rule matched"},
	noStack:          {trace.OtherCategory, Unknown, "no stack recorded"},
	heldUnknown:      {trace.OtherCategory, Unknown, "held from before recording"},
	noted:            {trace.OtherCategory, Exact, "noted by the writer"}, // the note has the category
	libraryWorkspace: {trace.Workspace, Stacked, "library workspace"},
	workspaceSize:    {trace.Workspace, Counted, "the size of a library workspace, never freed"},
	moduleMoved:      {trace.Parameter, Stacked, "module moved or converted"},
	moduleBuilt:      {trace.Parameter, Stacked, "module built or loaded"},
	weightsGathered:  {trace.GatheredParameter, Stacked, "sharded weights gathered"},
	bucketMade:       {trace.Communication, Stacked, "bucket of DistributedDataParallel"},
	exchanged:        {trace.Communication, Stacked, "buffer of a collective"},
	collected:        {trace.Communication, Lived, "result of a collective, gone before backward"},
	bucketViewed:     {trace.Gradient, Lived, "bucket that gradients are views of"},
	constructorMade:  {trace.Parameter, Placed, "made by a constructor"},
	replacedInStep:   {trace.Parameter, Lived, "replaces a parameter"},
	heldWeight:       {trace.Parameter, Counted, "held before, never freed: the first copy of each size"},
	knownShape:       {trace.Parameter, Counted, "sizes of layers and their vectors"},
	accumulated:      {trace.Gradient, Stacked, "gradient accumulated"},
	gradientMoved:    {trace.Gradient, Stacked, "moved after the weight of its size"},
	gradientBuffer:   {trace.Gradient, Stacked, "flat buffer of gradients"},
	outlivesBackward: {trace.Gradient, Lived, "made in backward, outlives it"},
	freedByZeroGrad:  {trace.Gradient, Lived, "freed in zero_grad"},
	heldGradient:     {trace.Gradient, Counted, "held before, never freed: the copy that backward adds to"},
	optimizerState:   {trace.Optimizer, Stacked, "optimizer begins its state"},
	weightsCopied:    {trace.Optimizer, Counted, "made outside of modules, one for each weight"},
	ownWeight:        {trace.Parameter, Counted, "made outside of modules, one for each gradient"},
	outlivesStep:     {trace.Optimizer, Lived, "made in the step, outlives it"},
	dropsInStep:      {trace.Optimizer, Lived, "made and freed in the step"},
	heldMoment:       {trace.Optimizer, Lived, "held before, freed in the step"},
	heldState:        {trace.Optimizer, Counted, "held before, never freed: further copies of the weights"},
	graphKept:        {trace.Activation, Lived, "forward with a graph"},
	graphUnused:      {trace.Activation, Placed, "forward with a graph, and no backward pass for it"},
	graphOpen:        {trace.Activation, Placed, "forward with a graph, and the recording ends"},
	freedByEngine:    {trace.Activation, Lived, "freed by backward"},
	recomputed:       {trace.Activation, Stacked, "forward run again in backward"},
	heldResult:       {trace.Activation, Lived, "held before, freed by backward"},
	likeActivation:   {trace.Activation, Placed, "held before, the size of activations"},
	backwardScratch:  {trace.BackwardTemporary, Lived, "made in backward, gone before it ends"},
	backwardOpen:     {trace.BackwardTemporary, Placed, "made in backward, in which the recording ends"},
	dataLoaded:       {trace.Input, Stacked, "data loading"},
	scriptMade:       {trace.Input, Placed, "made outside of any module, there through a call of the model"},
	heldBatch:        {trace.Input, Placed, "held before, the size of a batch"},
	cacheMade:        {trace.KVCache, Stacked, "cache of keys and values"},
	noGraph:          {trace.Inference, Lived, "forward without a graph"},
	noGradMade:       {trace.Inference, Stacked, "under no_grad or inference_mode"},
	resultKept:       {trace.Inference, Placed, "forward without a graph, there to the end"},
	heldOutput:       {trace.Inference, Placed, "held before, freed in the loop without a graph"},
}

// String describes the rule's evidence in words.
func (r Rule) String() string { return table[r].name }

// MarshalText writes them.
func (r Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Unplaced reports whether neither a stack nor a size says what the allocation is
// for.
func (r Rule) Unplaced() bool { return r == heldUnknown || r == noStack }

// Passes reports whether the allocation is gone when the optimizer's step ends that
// made it.
func (r Rule) Passes() bool { return r == dropsInStep }

// Unused reports whether a graph keeps the allocation for a backward pass that does not
// come.
func (r Rule) Unused() bool { return r == graphUnused }

// Strength returns the kind of evidence that the rule uses.
func (r Rule) Strength() Strength { return table[r].strength }
