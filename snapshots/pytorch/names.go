package pytorch

import "github.com/memtop/memtop/snapshots/trace"

// name is a known key or value of a snapshot. The machine interns all names
// first, so a name is its string's number less firstName.
type name uint32

// firstName is the number of the first name: 0 and 1 are the absent and the
// empty string.
const firstName = 2

// The keys of records, then the values with a meaning.
const (
	nameAction name = iota
	nameAddr
	nameSize
	nameStream
	nameTime
	nameFrames
	nameCompileContext
	nameUserMetadata
	nameInternalMetadata
	namePoolID
	nameForwardFrames
	nameCategory
	nameLayer
	nameRole
	nameShape
	nameDType
	nameNotedCategory
	nameDeviceFree
	nameFilename
	nameLine
	nameName
	nameFXOp
	nameFXNode
	nameFXTarget
	nameFXTrace
	nameFXInfo
	nameAddress
	nameRequestedSize
	nameState
	nameHistory
	nameRealSize
	nameDevice
	nameTotalSize
	nameAllocatedSize
	nameActiveSize
	nameSegmentType
	nameSegmentPoolID
	nameIsExpandable
	nameBlocks
	nameStage
	nameSegments
	nameDeviceTraces
	nameAllocatorSettings
	nameExternalAnnotations
	nameHostSegments
	nameHostTraces
	nameOverflowed
	nameMaxEntries
	keyCount // the names above are keys of records

	nameActiveAllocated name = iota - 1
	nameActivePending
	nameActiveAwaiting
	nameInactive
	nameFirstKind
)

var names = [...]string{
	nameAction: "action", nameAddr: "addr", nameSize: "size", nameStream: "stream",
	nameTime: "time_us", nameFrames: "frames", nameCompileContext: "compile_context",
	nameUserMetadata: "user_metadata", nameInternalMetadata: "internal_metadata", namePoolID: "pool_id",
	nameForwardFrames: "forward_frames",
	nameCategory:      "category", nameLayer: "layer", nameRole: "role", nameShape: "shape",
	nameDType: "dtype", nameNotedCategory: "noted_category",
	nameDeviceFree: "device_free", nameFilename: "filename", nameLine: "line",
	nameName: "name", nameFXOp: "fx_node_op", nameFXNode: "fx_node_name",
	nameFXTarget: "fx_node_target", nameFXTrace: "fx_original_trace", nameFXInfo: "fx_node_info",
	nameAddress: "address", nameRequestedSize: "requested_size", nameState: "state",
	nameHistory: "history", nameRealSize: "real_size", nameDevice: "device",
	nameTotalSize: "total_size", nameAllocatedSize: "allocated_size", nameActiveSize: "active_size",
	nameSegmentType: "segment_type", nameSegmentPoolID: "segment_pool_id",
	nameIsExpandable: "is_expandable", nameBlocks: "blocks", nameStage: "stage",
	nameSegments: "segments", nameDeviceTraces: "device_traces",
	nameAllocatorSettings: "allocator_settings", nameExternalAnnotations: "external_annotations",
	nameHostSegments: "host_segments", nameHostTraces: "host_traces",
	nameOverflowed: "trace_alloc_overflowed", nameMaxEntries: "trace_alloc_max_entries",
	nameActiveAllocated: "active_allocated", nameActivePending: "active_pending_free",
	nameActiveAwaiting: "active_awaiting_free", nameInactive: "inactive",
}

// noteKeys are the keys of a note's texts, in the order of trace.NoteTexts.
var noteKeys = [len(trace.NoteTexts)]name{
	nameAction, nameCompileContext, nameUserMetadata, nameCategory, nameLayer, nameRole, nameShape, nameDType,
}

// internNames makes the first strings of a fresh interner the names, followed
// by the actions in order of their kind.
func internNames(in *trace.Interner) {
	for _, s := range names {
		in.String(s)
	}
	for k := range trace.KindCount {
		in.String(trace.Kind(k).String())
	}
}

// nameOf returns the name of a string, a number past all names if it has none.
func nameOf(id trace.StringID) name { return name(id) - firstName }

// kindOf returns the kind of event that an action's name stands for.
func kindOf(id trace.StringID) trace.Kind {
	if k := nameOf(id) - nameFirstKind; k < name(trace.KindCount) {
		return trace.Kind(k)
	}
	return trace.Other
}
