"""What keeps the program as it would be without the agent: its threads, modes, signals, objects and failures."""
