"""Starting the agent: which processes of a job have one, and under which name.

Nothing here measures."""
