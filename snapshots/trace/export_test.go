package trace

// Problems returns the events that contradicted the state before them.
func (f *Follower) Problems() Problems { return f.problems }
