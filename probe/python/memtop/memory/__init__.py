"""The program's memory: the registry of storages, PyTorch's allocator and its history, the machine's memory.

Reports of running out of memory are written here too.
"""
