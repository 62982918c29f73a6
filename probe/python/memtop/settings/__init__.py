"""The settings of a PyTorch job that a viewer may change. Each change takes effect at a step boundary."""
