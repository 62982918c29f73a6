package savings

// Kind is one kind of saving. Its texts are also the documentation:
// docs/answers.md is generated from them.
type Kind struct {
	Name   string // in JSON
	Change string // what to do, in a few words
	Speaks string // when it is found
	Silent string // when it is not, although it looks like it
	Saving string // how the saving is worked out
	Sure   bool   // the saving is counted, not estimated
	Told   bool   // it is said also where it saves nothing
	find   func(s *Scene) (Saving, bool)
}

// Kinds are all kinds of savings.
var Kinds = []Kind{
	{
		Name:   "no_grad",
		Change: "torch.no_grad() or torch.inference_mode()",
		Speaks: "what graphs keep for no backward pass is 30 % of the peak: it is gone before the next one begins, or none follows, as in a validation pass",
		Silent: "a backward pass frees it, or nothing shows a graph; where it is there to the end of the recording, it says that too",
		Saving: "these activations, except the results of steps; who reads what is not recorded, so each goes at the latest with its layer or step, at the earliest when the next operation has its result",
		find:   findNoGrad,
	},
	{
		Name:   "attention_scores",
		Change: "fused attention",
		Speaks: "blocks of a softmax within attention are alive at the peak and, with others of attention of the same size, are 5 % of it",
		Silent: "attention is fused: there is no such block then",
		Saving: "all of these blocks: fused attention keeps only what it is given and what it returns",
		Sure:   true, find: findAttention,
	},
	{
		Name:   "logits",
		Change: "the loss over an eighth of the tokens at a time",
		Speaks: "what a loss makes over all classes is alive at the peak in several blocks of one size, and they are 5 % of it",
		Silent: "there is only one such block, or memory of a softmax within attention; blocks of other lines count if few have that size",
		Saving: "seven eighths of these blocks, of their copies in half precision, and of what backward makes of them while they are there: the loss in eight pieces has one eighth of each at a time",
		find:   findLogits,
	},
	{
		Name:   "stale_results",
		Change: "delete the results of the step before",
		Speaks: "results of a step before are alive at the peak beside those of the same line of this step, and are 2 % of it",
		Silent: "steps are not known, or these grow with each step",
		Saving: "the blocks of the earlier steps",
		Sure:   true, find: findStale,
	},
	{
		Name:   "stale_gradients",
		Change: "zero_grad() before forward",
		Speaks: "gradients from before this step are alive at the peak, and are 5 % of it",
		Silent: "steps are not known, or backward has made them all again before the peak",
		Saving: "these gradients, from the beginning of each step until backward makes them again",
		Sure:   true, find: findStaleGradients,
	},
	{
		Name:   "bucket_copies",
		Change: "gradient_as_bucket_view=True",
		Speaks: "buckets of DistributedDataParallel and gradients that are not in them are each 5 % of the peak",
		Silent: "gradients are views of the buckets",
		Saving: "the gradients beside the buckets",
		Sure:   true, find: findBuckets,
	},
	{
		Name:   "in_place",
		Change: "relu and dropout in place",
		Speaks: "results of relu or dropout stand beside inputs that nothing else reads: freed before anything else is made, or given by the module before in the same `Sequential`; they are 3 % of the peak",
		Silent: "another layer or a residual may read the input, or the module before keeps it for backward",
		Saving: "the inputs, from when the results are there",
		find:   findInPlace,
	},
	{
		Name:   "weight_copies",
		Change: "the model in bfloat16",
		Speaks: "half-precision copies that autocast made of weights are alive at the peak of a program that does not train, and are 3 % of it",
		Silent: "the program trains: copies of the weights in float32 would take what is saved; of more casts of one size than there are such weights, the others are not copies",
		Saving: "the copies, and half of the weights",
		find:   findWeightCopies,
	},
	{
		Name:   "optimizer_state",
		Change: "an 8-bit optimizer",
		Speaks: "the optimizer's state that outlives its step is 15 % of the peak; where its steps make some of it, only that counts, not the weights' copies in float32",
		Silent: "it is an 8-bit or factored one already",
		Saving: "three quarters of it: one byte for each value instead of four",
		find:   findOptimizer,
	},
	{
		Name:   "foreach_temporaries",
		Change: "a fused optimizer",
		Speaks: "temporaries of a step of PyTorch's own foreach optimizers are 5 % of the peak",
		Silent: "the optimizer is fused or takes one weight at a time: there are no such temporaries then",
		Saving: "all of these temporaries: Adam, AdamW, SGD and Adagrad have fused=True, others foreach=False",
		Sure:   true, find: findForeach,
	},
	{
		Name:   "checkpointing",
		Change: "checkpointing each layer",
		Speaks: "activations are 30 % of the peak of a program that trains, and at least four layers make them alike; or one checkpoint makes those of four layers again at once",
		Silent: "each layer is checkpointed already, there is no backward pass, or the layers' weights are replicas, which computing again would keep",
		Saving: "what each layer keeps, from the end of its forward pass until backward needs it; what it gives to the next layer stays, and while it is computed again, all that its forward pass needs is there",
		find:   findCheckpointing,
	},
	{
		Name:   "save_on_cpu",
		Change: "torch.autograd.graph.save_on_cpu()",
		Speaks: "activations that backward needs are 30 % of the peak, and checkpointing each layer saves less than half of what this does",
		Silent: "checkpointing helps as much, there is no backward pass, or Go made them",
		Saving: "these activations, from when the next operations have read them until backward needs them",
		find:   findOffload,
	},
	{
		Name:   "mixed_precision",
		Change: "mixed precision",
		Speaks: "float32 activations are 30 % of the peak of a program that trains, and says so itself",
		Silent: "autocast is on already, or the element type is not recorded, as in PyTorch's files",
		Saving: "half of these activations",
		find:   findPrecision,
	},
	{
		Name:   "kv_cache",
		Change: "an 8-bit cache of keys and values",
		Speaks: "keys and values of generation are 15 % of the peak",
		Silent: "there are none, or a server reserves them",
		Saving: "half of them: one byte for each value instead of two",
		find:   findCache,
	},
	{
		Name:   "server_cache",
		Change: "a lower share of the GPU for the server",
		Speaks: "a server's cache of keys and values is 15 % of the peak: it fills the share of the GPU that it is given",
		Silent: "there is none, or no server is on its stacks",
		Saving: "none: smaller values make room for more of them, not less memory",
		Told:   true, find: findServerCache,
	},
	{
		Name:   "workspaces",
		Change: "CUBLAS_WORKSPACE_CONFIG=:4096:2",
		Speaks: "workspaces of more than 8 MiB are alive at the peak, in sum 64 MiB and 2 % of it",
		Silent: "CUBLAS_WORKSPACE_CONFIG made them small",
		Saving: "what each of them has above 8 MiB",
		find:   findWorkspaces,
	},
}
