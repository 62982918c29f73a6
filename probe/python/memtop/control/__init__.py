"""The settings of a PyTorch job that a viewer may change, each from the job's next step on."""
