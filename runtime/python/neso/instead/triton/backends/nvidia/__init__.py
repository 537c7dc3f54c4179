"""triton.backends.nvidia in neso."""
