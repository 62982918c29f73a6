package savings

// Kind is one kind of finding, such as a saving. docs/answers.md says when each speaks,
// when it is silent although something looks like it, and how its saving is worked out.
type Kind struct {
	Name   string // in JSON
	Change string // what to do, in a few words; "" if each finding has its own
	Sure   bool   // the saving is counted, not estimated
	Told   bool   // it is said also where it saves nothing
	find   func(s *Scene) (Saving, bool)
}

// Kinds are all kinds of savings.
var Kinds = []Kind{
	{Name: "no_grad", Change: "torch.no_grad() or torch.inference_mode()", find: findNoGrad},
	{Name: "attention_scores", Change: "fused attention", Sure: true, find: findAttention},
	{Name: "logits", Change: "the loss over an eighth of the tokens at a time", find: findLogits},
	{Name: "stale_results", Change: "delete the results of the step before", Sure: true, find: findStale},
	{Name: "stale_gradients", Change: "zero_grad() before forward", Sure: true, find: findStaleGradients},
	{Name: "bucket_copies", Change: "gradient_as_bucket_view=True", Sure: true, find: findBuckets},
	{Name: "weight_copies", Change: "the model in bfloat16", find: findWeightCopies},
	{Name: "optimizer_state", Change: "an 8-bit optimizer", find: findOptimizer},
	{Name: "foreach_temporaries", Change: "a fused optimizer", Sure: true, find: findForeach},
	{Name: "checkpointing", Change: "checkpointing each layer", find: findCheckpointing},
	{Name: "save_on_cpu", Change: "torch.autograd.graph.save_on_cpu()", find: findOffload},
	{Name: "mixed_precision", Change: "mixed precision", find: findPrecision},
	{Name: "kv_cache", Change: "an 8-bit cache of keys and values", find: findCache},
	{Name: "server_cache", Change: "a lower share of the GPU for the server", Told: true, find: findServerCache},
	{Name: "workspaces", Change: "CUBLAS_WORKSPACE_CONFIG=:4096:2", find: findWorkspaces},
}
