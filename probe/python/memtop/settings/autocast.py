"""Whether autocast is on, with the functions that each version of PyTorch has for it."""

from __future__ import annotations

import torch


def autocast_type() -> str:
    """Return the type that autocast converts to now, "" if it is off."""
    for device in ("cuda", "cpu"):
        if is_autocast(device):
            return autocast_to(device)
    return ""


if hasattr(torch, "get_autocast_dtype"):

    def is_autocast(device: str) -> bool:
        """Report whether autocast is on for this type of device."""
        return bool(torch.is_autocast_enabled(device))

    def autocast_to(device: str) -> str:
        """Return the type that autocast converts to."""
        return str(torch.get_autocast_dtype(device)).replace("torch.", "")

else:

    def is_autocast(device: str) -> bool:
        """Report whether autocast is on for this type of device."""
        return bool(torch.is_autocast_enabled() if device == "cuda" else torch.is_autocast_cpu_enabled())

    def autocast_to(device: str) -> str:
        """Return the type that autocast converts to."""
        got = torch.get_autocast_gpu_dtype() if device == "cuda" else torch.get_autocast_cpu_dtype()
        return str(got).replace("torch.", "")
