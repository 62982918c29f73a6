package savings

// Kind is one kind of finding, such as a saving. docs/answers.md says when each speaks,
// when it is silent although something looks like it, and how its saving is worked out.
type Kind struct {
	Name   string // in JSON
	Change string // what to do, in a few words; "" if each finding has its own
	Sure   bool   // the saving is counted, not estimated
	Told   bool   // it is said also where it saves nothing
	least  int64  // percent of all bytes that it is about, or it is not worth a word
	find   func(s *Scene) Saving
}

// Kinds are all kinds of savings.
var Kinds = []Kind{
	{Name: "no_grad", Change: "torch.no_grad() or torch.inference_mode()", least: 30, find: findNoGrad},
	{Name: "attention_scores", Change: "fused attention", Sure: true, least: 5, find: findAttention},
	{Name: "logits", Change: "the loss over an eighth of the tokens at a time", least: 5, find: findLogits},
	{Name: "stale_results", Change: "delete the results of the step before", Sure: true, least: 2, find: findStale},
	{Name: "stale_gradients", Change: "zero_grad() before forward", Sure: true, least: 5, find: findStaleGradients},
	{Name: "bucket_copies", Change: "gradient_as_bucket_view=True", Sure: true, least: 5, find: findBuckets},
	{Name: "weight_copies", Change: "the model in bfloat16", least: 3, find: findWeightCopies},
	{Name: "optimizer_state", Change: "an 8-bit optimizer", least: 15, find: findOptimizer},
	{Name: "foreach_temporaries", Change: "a fused optimizer", Sure: true, least: 5, find: findForeach},
	{Name: "checkpointing", Change: "checkpointing each layer", least: 30, find: findCheckpointing},
	{Name: "save_on_cpu", Change: "torch.autograd.graph.save_on_cpu()", least: 30, find: findOffload},
	{Name: "mixed_precision", Change: "mixed precision", least: 30, find: findPrecision},
	{Name: "kv_cache", Change: "an 8-bit cache of keys and values", least: 15, find: findCache},
	{Name: "server_cache", Change: "a lower share of the GPU for the server", Told: true, least: 15, find: findServerCache},
	{Name: "workspaces", Change: "CUBLAS_WORKSPACE_CONFIG=:4096:2", least: 2, find: findWorkspaces},
}
