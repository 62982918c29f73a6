// Package pytorch turns PyTorch's CUDA memory snapshots into traces and back.
//
// [Decode] reads the pickle that torch.cuda.memory._dump_snapshot and its kin
// write, of every protocol and of every PyTorch from 1.13 on. It has its own
// machine for the opcodes of plain data, and works on a stream: records go
// straight into a trace, and Decode makes no Python objects. It refuses opcodes
// that name or build an object, and never executes them.
//
// The path of a byte:
//
//	window   a sliding view of the input            (window.go)
//	opcodes  bytes to operations                    (opcodes.go)
//	machine  value stack, memo, lists and dicts     (machine.go, memo.go)
//	records  a dict's keys and values to a record   (record.go, event.go, block.go, segment.go)
//	snapshot the finished lists to a trace          (snapshot.go)
//
// [DecodeJSON] drives the same machine from JSON. [Write] writes a trace as a
// pickle.
//
// Package snapshots handles files, compression and HTML.
package pytorch
