package imitation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// longestDescription is the most bytes that are read of a GPU's description.
const longestDescription = 64 << 10

// contextOfThread is how many bytes CUDA's context takes for each thread that can
// be resident. The catalogue uses this rule for contexts that were not measured.
const contextOfThread = 2 << 10

// Describe reads a GPU that is not in the catalogue. The input is the JSON of one
// GPU, as memtop prints it for the catalogue. The capability must be in the
// table. The size of CUDA's context and the number of NCCL's channels may be left
// out. The error says what is wrong with the description.
func Describe(from io.Reader) (GPU, error) {
	var g GPU
	text, err := io.ReadAll(io.LimitReader(from, longestDescription+1))
	if err != nil {
		return g, err
	}
	if len(text) > longestDescription {
		return g, errors.New("it is too long for a GPU")
	}
	fields := json.NewDecoder(strings.NewReader(string(text)))
	fields.DisallowUnknownFields()
	if err := fields.Decode(&g); err != nil {
		return g, fmt.Errorf("it is no GPU in JSON: %w", err)
	}
	known := false
	for _, row := range rows(capabilityTable) {
		if row["capability"] == g.Capability {
			g.generation, known = row.generation(), true
		}
	}
	switch {
	case !known:
		return g, fmt.Errorf("compute_capability %q is none that can be imitated", g.Capability)
	case g.Total < 1<<28 || g.Total > 1<<44:
		return g, fmt.Errorf("total_bytes %d are not between 256 MiB and 16 TiB", g.Total)
	case g.Processors < 1 || g.Processors > 1024 || g.L2 < 0 || g.Channels < 0 || g.Channels > 64:
		return g, errors.New("processors, l2_bytes or nccl_channels is none of a GPU")
	case strings.ContainsAny(g.Title+g.Name, ";\n") || len(g.Title) > 100:
		return g, errors.New("its title is none of a GPU")
	}
	if g.Context == 0 {
		g.Context = int64(g.Processors)*int64(g.generation.threads)*contextOfThread + loaded(g.Capability)
	}
	if g.Context < 0 || g.Context >= g.Total {
		return g, errors.New("context_bytes do not fit into total_bytes")
	}
	if g.Channels == 0 {
		g.Channels = channelsWithoutNVLink
	}
	return g, nil
}

// channelsWithoutNVLink is the number of NCCL's channels between GPUs without
// NVLink.
const channelsWithoutNVLink = 4
