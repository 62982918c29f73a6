"""A rehearsal on the imitated GPU: it computes nothing, and what is read from it must be known all the same."""
